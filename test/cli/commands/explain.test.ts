import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { summarySchema } from '../../../src/record/schema-summary.js';
import { runCli as run } from '../run-cli.js';

/** One GPU whose LOAD of 8.3 ms leaves no time for an INFER in 10 ms; the model is unloaded between requests. */
const COLD = `seed: 1
cluster: { gpus: 1, pages: 7 }
models: { kind: fit, name: model, parameters: 25.6M, copies: 2 }
workload: { kind: poisson, rate: 20/s, duration: 2s }
slo: 10ms
policy: { kind: clockwork }
admission: none
`;

let dir: string;
let out: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'escapement-explain-'));
  writeFileSync(join(dir, 'cold.yaml'), COLD);
  out = join(dir, 'out');
  const { status } = await run(['simulate', join(dir, 'cold.yaml'), '--out', out, '--quiet']);
  expect(status).toBe(0);
});

describe('explain', () => {
  it('takes one model or one cause', async () => {
    const list = async (...flags: string[]) =>
      JSON.parse((await run(['explain', out, '--json', ...flags])).stdout);
    const { requests } = await list('--model', 'model-1');
    expect(new Set(requests.map(({ model }: { model: string }) => model))).toEqual(new Set(['model-1']));
    expect((await list('--cause', 'workerLost')).requests).toEqual([]);
    expect((await run(['explain', out, '--cause', 'workerLost'])).stdout).toBe(
      'no matching request failed\n',
    );
  });

  it.each([
    ['a request that was not', ['--request', '100000'], /--request 100000: the run has no such request/],
    ['a model that was not', ['--model', 'mode-1'], /--model mode-1: .*did you mean model-1\?/],
    ['a tenant where there are none', ['--tenant', 'acme'], /--tenant acme: the run has no tenants/],
    ['a cause that is none', ['--cause', 'cold'], /--cause "cold": must be one of "late", "refused"/],
    [
      'a request and a filter',
      ['--request', '1', '--cause', 'late'],
      /--request and --cause cannot be combined/,
    ],
  ])('refuses %s', async (_, flags, message) => {
    const { status, stderr } = await run(['explain', out, ...flags]);
    expect(status).toBe(2);
    expect(stderr).toMatch(message);
  });

  it.each([
    [
      'requests.tsv',
      /requests\.tsv: has \d+ rows after the warm-up, but run\.json counted \d+: the log was cut/,
    ],
    [
      'actions.tsv',
      /actions\.tsv: has \d+ rows after the warm-up, but run\.json counted \d+: the log was cut/,
    ],
  ])('refuses a %s that was cut, at whichever byte', async (log, message) => {
    const text = readFileSync(join(out, log), 'utf8');
    const lineEnd = text.lastIndexOf('\n', text.length - 2) + 1;
    const header = text.indexOf('\n') + 1;
    for (const [length, problem] of [
      [lineEnd, message],
      [header, message],
      [lineEnd + 5, /:\d+: is cut off in the middle of a line/],
      [0, /\.tsv: is empty; run the experiment again/],
    ] as const) {
      writeFileSync(join(out, log), text.slice(0, length));
      for (const flags of [[], ['--request', '0'], ['--request', '100000']]) {
        const { status, stderr } = await run(['explain', out, ...flags]);
        expect([status, stderr]).toEqual([36, expect.stringMatching(problem)]);
      }
    }
    writeFileSync(join(out, log), text);
  });
});

describe('explain of a run with classes, tenants and lengths', () => {
  const SENDERS = `seed: 1
cluster: { gpus: 1 }
models: { kind: profile, path: profiles/bert-base.estimate.v100.json }
classes: [{ name: standard }, { name: gold, weight: 10 }]
tenants: { header: x-tenant, list: [{ name: others }, { name: acme }] }
workload:
  - { kind: poisson, rate: 400/s, duration: 1s, class: gold, tenant: acme, length: { kind: constant, value: 200 } }
  - { kind: poisson, rate: 400/s, duration: 1s, length: { kind: constant, value: 20 } }
slo: 50ms
`;
  it('names whose each request was', async () => {
    const file = join(dir, 'senders.yaml');
    writeFileSync(file, SENDERS.replace('profiles/', `${process.cwd()}/experiments/profiles/`));
    const folder = join(dir, 'senders');
    expect((await run(['simulate', file, '--out', folder, '--quiet'])).stderr).toBe('');
    const { requests } = JSON.parse((await run(['explain', folder, '--json', '--limit', '500'])).stdout);
    const whose = new Set(
      requests.map((row: { class: string; tenant: string }) => `${row.class} of ${row.tenant}`),
    );
    expect(whose).toEqual(new Set(['gold of acme', 'standard of others']));
    const list = (await run(['explain', folder])).stdout;
    expect(list).toMatch(/request +model +class +tenant +cause/);
    const ofGold = JSON.parse((await run(['explain', folder, '--class', 'gold', '--json'])).stdout);
    expect(new Set(ofGold.requests.map((row: { class: string }) => row.class))).toEqual(new Set(['gold']));
    expect((await run(['explain', folder, '--class', 'gol'])).stderr).toMatch(
      /--class gol: the run has no such class; did you mean gold\?/,
    );
    const gold = requests.find((row: { class: string }) => row.class === 'gold').request;
    const { stdout } = await run(['explain', folder, '--request', String(gold)]);
    expect(stdout).toMatch(/^request \d+ for bert-base, user \d+, class gold, tenant acme, length 200$/m);
  });
});

describe('explain of a run with tenants', () => {
  const LIMITED = `seed: 1
cluster: { gpus: 1, pages: 60 }
models: { kind: fit, name: model, parameters: 10M, copies: 2 }
tenants: { list: [{ name: small }, { name: flood }, { name: slow, rate: 10/s, burst: 1 }] }
workload:
  - { kind: poisson, load: 60%, duration: 3s, tenant: small }
  - { kind: poisson, load: 300%, duration: 3s, tenant: flood }
  - { kind: poisson, rate: 100/s, duration: 3s, tenant: slow }
slo: 100ms
policy: { kind: edf }
admission: predict
`;

  it('tells whom a limit refused from those that admission refused', async () => {
    writeFileSync(join(dir, 'limited.yaml'), LIMITED);
    const folder = join(dir, 'limited');
    const args = ['simulate', join(dir, 'limited.yaml'), '--out', folder, '--quiet', '--json'];
    const { by } = summarySchema.parse(JSON.parse((await run(args)).stdout));
    const tenants = by.tenant!;
    const listed = async (...flags: string[]) =>
      JSON.parse((await run(['explain', folder, '--json', '--limit', '100000', ...flags])).stdout);
    const { failures, requests } = await listed();
    const sum = (figure: 'overRate' | 'overShare') =>
      tenants.reduce((all, each) => all + each.failures![figure], 0);
    expect([failures.overRate, failures.overShare]).toEqual([sum('overRate'), sum('overShare')]);
    expect(Math.min(failures.overRate, failures.overShare, failures.refused)).toBeGreaterThan(0);
    const first = (cause: string) =>
      requests.find((one: { cause: string }) => one.cause === cause) as { request: number; tenant: string };
    const [slow, flood] = [first('overRate'), first('overShare')];
    expect([slow.tenant, flood.tenant]).toEqual(['slow', 'flood']);
    const list = (await run(['explain', folder, '--limit', '100000'])).stdout;
    expect(list).toContain(`${failures.overRate.toLocaleString('en')} beyond rate`);
    expect(list).toMatch(/slow +beyond rate/);
    const ofFlood = await listed('--tenant', 'flood');
    expect(new Set(ofFlood.requests.map(({ tenant }: { tenant: string }) => tenant))).toEqual(
      new Set(['flood']),
    );
    expect(ofFlood.failures.overShare).toBe(tenants[1]!.failures!.overShare);
    expect(ofFlood.failures.overRate).toBe(0);
    const why = async (request: number) =>
      (await run(['explain', folder, '--request', String(request)])).stdout;
    expect(await why(slow.request)).toContain('refused on arrival: slow had used up its rate and burst');
    expect(await why(slow.request)).toContain(
      'cause: beyond rate, refused on arrival: its tenant had used up',
    );
    expect(await why(flood.request)).toContain('GPUs were overloaded, and flood was over its fair share');
    expect(await why(first('refused').request)).toContain('refused 100 ms before its deadline');
  });
});
