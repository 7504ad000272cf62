import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import { FlightRecorder } from '../../src/live/journal/flight-recorder.js';
import { replayJournal } from '../../src/live/journal/replay.js';
import { CAUSES } from '../../src/record/causes.js';
import { live } from '../../src/run/live.js';
import { run } from '../../src/run/run.js';
import { simulate } from '../../src/run/simulated.js';
import { tempDir } from '../cli/run-cli.js';
import { replayPolicy } from '../live/journal/fixtures.js';

const file = (tenants: string, policy = 'edf') => `seed: 1
cluster: { gpus: 1, pages: 60 }
models: { kind: fit, name: model, parameters: 10M, copies: 2 }
tenants: { list: ${tenants} }
workload:
  - { kind: poisson, load: 30%, duration: 20s, tenant: small }
  - { kind: poisson, load: 400%, duration: 20s, tenant: flood }
slo: 100ms
policy: { kind: ${policy} }
warmup: 5s
output: { requestLog: true, actionLog: false, timeline: false }
`;

async function tenantsOf(...args: Parameters<typeof file>) {
  const { summary } = await simulate(await parseExperiment(file(...args), 'tenants.yaml'));
  const [small, flood] = summary.by.tenant ?? [];
  return { small, flood, goodputRps: summary.goodputRps };
}

describe('tenants', () => {
  it.each(['edf', 'clockwork', 'shepherd', 'escapement'])(
    'under overload one that floods leaves the others their share: %s',
    async (policy) => {
      const { small, flood, goodputRps } = await tenantsOf('[{ name: small }, { name: flood }]', policy);
      expect(small.attainment).toBeGreaterThan(0.88);
      expect(flood.failures!.overShare).toBeGreaterThan(0);
      expect(small.failures!.overShare).toBe(0);
      expect(flood.goodputRps).toBeGreaterThan(0.5 * goodputRps!);
    },
  );

  it('what the others may send grows while GPUs are idle, under a policy that loses some of whatever it gets', async () => {
    const rates = { large: 1200, small: 120 };
    const text = `seed: 1
cluster: { gpus: [{ kind: v100, count: 4, memory: 16GiB }, { kind: t4, count: 4, memory: 16GiB, speed: 0.35 }] }
models: { kind: zoo, varieties: 8 }
tenants: { list: [{ name: large }, { name: small }] }
workload:
${Object.entries(rates)
  .map(([name, rate]) => `  - { kind: poisson, rate: ${rate}/s, duration: 20s, tenant: ${name} }`)
  .join('\n')}
slo: 50ms
policy: { kind: clockwork }
warmup: 10s
`;
    const { summary } = await simulate(await parseExperiment(text, 'tenants.yaml'));
    const [large, small] = summary.by.tenant ?? [];
    expect(small.attainment).toBeGreaterThan(0.95);
    expect(large.attainment).toBeGreaterThan(0.7);
  });

  it.each([1, 2, 3])(
    'nothing is refused of the one that asks for least beyond its share, however its part is rounded: seed %i',
    async (seed) => {
      const text = `seed: ${seed}
cluster: { gpus: 2 }
models: { kind: zoo, varieties: 8 }
tenants: { list: [{ name: small }, { name: flood }] }
workload:
  - { kind: poisson, rate: 400/s, duration: 6s, tenant: small }
  - { kind: poisson, rate: 1500/s, duration: 6s, tenant: flood }
slo: 50ms
policy: { kind: escapement }
`;
      const { summary } = await simulate(await parseExperiment(text, 'tenants.yaml'));
      const [small, flood] = summary.by.tenant ?? [];
      expect(flood.failures!.overShare).toBeGreaterThan(500);
      expect(small.failures!.overShare).toBe(0);
    },
  );

  it('are not held to shares because a policy loses a few percent of whatever is asked for', async () => {
    const rates = { a: 700, b: 500, c: 100, d: 20 };
    const sent = Object.entries(rates).map(
      ([name, rate]) => `  - { kind: poisson, rate: ${rate}/s, duration: 10s, tenant: ${name} }`,
    );
    const text = `seed: 1
cluster: { gpus: [{ kind: v100, count: 4, memory: 16GiB }] }
models: { kind: zoo, varieties: 8 }
tenants: { list: [{ name: a, share: 0.5 }, { name: b, share: 0.25 }, { name: c, share: 0.25 }, { name: d, share: 0.1 }] }
workload:
${sent.join('\n')}
slo: 50ms
policy: { kind: clockwork }
`;
    const { summary } = await simulate(await parseExperiment(text, 'tenants.yaml'));
    expect(summary.attainment).toBeGreaterThan(0.92);
  });

  it('are in the log of requests, and live in the journal, which replays to the same digest', async () => {
    const dir = tempDir();
    const text = file('[{ name: small }, { name: flood, rate: 20/s, burst: 2 }]')
      .replace('load: 30%, duration: 20s', 'rate: 100/s, duration: 500ms')
      .replace('load: 400%, duration: 20s', 'rate: 200/s, duration: 500ms')
      .replace('warmup: 5s', 'warmup: 0s');
    const journal = join(dir, 'run.journal');
    const { result } = await run(await parseExperiment(text, 'tenants.yaml'), live(journal), {
      outDir: dir,
    });
    const [, flood] = result.summary.by.tenant ?? [];
    expect(flood.failures!.overRate).toBeGreaterThan(50);
    const [header, ...rows] = readFileSync(join(dir, 'requests.tsv'), 'utf8').split('\n');
    expect(header).toMatch(/\ttenant_id$/);
    const [id, cause] = ['request_id', 'cause'].map((name) => header.split('\t').indexOf(name));
    const fields = rows.map((row) => row.split('\t').map(Number));
    const limited = fields.find((row) => CAUSES[row[cause]] === 'overRate')![id];
    const recorder = new FlightRecorder(limited);
    const replay = await replayJournal(journal, {
      createPolicy: replayPolicy,
      observer: recorder,
      watchers: [recorder],
    });
    expect(replay.digest).toBe(result.summary.digest);
    expect(recorder.flight).toMatchObject({ tenant: 'flood', limit: 'rate' });
  });
});
