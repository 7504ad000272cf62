import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Experiment } from '../../src/config/experiment.js';
import { parseExperiment } from '../../src/config/load.js';
import { openWorkloads } from '../../src/config/open-workloads.js';
import { rowsOf } from '../rows.js';
import { BASE, load } from './experiment-files.js';

/** Both models of `BASE` serve at most a batch of 4 in 5.88 ms: this many requests per second. */
const CAPACITY_RPS = 4 / 5.88e-3;

const experiment = (workload: string, overrides: readonly string[] = [], files = {}) =>
  load(BASE.replace(/^workload:.*\n/m, `workload: ${workload}\n`), overrides, files);

/** Plays all of it. */
async function requestsOf(run: Experiment): Promise<{ requests: number; durationNs: number }> {
  const { source, durationNs } = await openWorkloads(run);
  let requests = 0;
  for (; source.timeNs < Number.POSITIVE_INFINITY; source.advance()) requests++;
  return { requests, durationNs };
}

const MINUTES = `HashOwner,HashApp,HashFunction,Trigger,1,2,3
o,a,f,http,600,1200,600
o,a,g,http,0,0,600
`;

describe('workload.rate of azure-like', () => {
  it.each([
    ['1m', 3600],
    ['6s', 360],
    ['2m', 7200],
  ])('is the mean rate as played with an interval of %s', async (interval, seconds) => {
    const workload = `{ kind: azure-like, functions: 40, minutes: 60, rate: 15/s, scale: 2, interval: ${interval} }`;
    const { requests, durationNs } = await requestsOf(await experiment(workload));
    expect(durationNs).toBe(seconds * 1e9);
    const expected = 30 * seconds;
    expect(Math.abs(requests - expected)).toBeLessThan(5 * Math.sqrt(expected) + 0.002 * expected);
  });
});

/** A workload, the code and a part of the message. */
const MISTAKES = `
{ kind: poisson, rate: 10/s, load: 50%, duration: 1s } | E_CONFIG_VALUE | exp.yaml:4: workload.load: give rate or load, not both
{ kind: gamma, cv: 2, duration: 1s } | E_CONFIG_VALUE | workload.rate: is missing
{ kind: poisson, load: 0, duration: 1s } | E_CONFIG_VALUE | workload.load: must be above 0
{ kind: poisson, load: 50x, duration: 1s } | E_CONFIG_UNIT | workload.load: 50x has the unknown unit
{ kind: azure-like, scale: 2, load: 50% } | E_CONFIG_VALUE | workload.load: give scale or load, not both
{ kind: poisson, load: 50%, duration: 1s, slo: 2ms } | E_CONFIG_VALUE | workload.load: no batch of any of its models ends within 2ms
`;

describe('workload.load', () => {
  it('is a share of what the GPUs can serve at most', async () => {
    const { workloads } = await experiment('{ kind: poisson, load: 80%, duration: 20s }');
    expect(workloads).toEqual([
      {
        kind: 'poisson',
        rateRps: expect.closeTo(0.8 * CAPACITY_RPS, 9),
        durationNs: 20e9,
        popularity: { kind: 'uniform' },
      },
    ]);
    const two = await experiment('{ kind: gamma, cv: 4, load: 1.5, duration: 20s }', ['cluster.gpus=2']);
    expect(two.workloads).toMatchObject([{ kind: 'gamma', rateRps: expect.closeTo(3 * CAPACITY_RPS, 9) }]);
  });

  it('is for each section a share for its own models and SLO', async () => {
    const { workloads } = await experiment(`
  - { kind: poisson, load: 50%, duration: 20s }
  - { kind: poisson, load: 100%, start: 10s, duration: 10s, slo: 5ms, models: "1" }`);
    expect(workloads).toMatchObject([
      { rateRps: expect.closeTo(0.5 * CAPACITY_RPS, 9) },
      { rateRps: expect.closeTo(2 / 4.05e-3, 9), startNs: 10e9 },
    ]);
  });

  it.each([
    ['azure-2019, path: trace.csv', 3 * 60],
    ['azure-2019, path: trace.csv, minutes: "1:3", interval: 4s', 8],
    ['azure-2019, path: trace.csv, interval: 4s, duration: 6s', 6],
    ['azure-like, functions: 20, minutes: 5, interval: 3s', 15],
  ])('scales %s so that its mean rate is that share', async (kind, seconds) => {
    const run = await experiment(`{ kind: ${kind}, load: 90% }`, [], { 'trace.csv': MINUTES });
    const { requests, durationNs } = await requestsOf(run);
    expect(durationNs).toBe(seconds * 1e9);
    // Poisson: the count strays by its square root.
    const expected = 0.9 * CAPACITY_RPS * seconds;
    expect(Math.abs(requests - expected)).toBeLessThan(5 * Math.sqrt(expected));
  });

  it.each(rowsOf(MISTAKES))('refuses %s', async (workload = '', code, message) => {
    await expect(experiment(workload)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
  });
});

describe('an override that chooses the kind of a workload', () => {
  it('drops what only other kinds have, and leaves what the new one has too', async () => {
    const zipf = '{ kind: poisson, load: 80%, duration: 3s, popularity: { kind: zipf, s: 1 } }';
    const gamma = await experiment(zipf, ['workload.kind=gamma', 'workload.cv=2']);
    expect(gamma.workloads).toMatchObject([
      { kind: 'gamma', cv: 2, durationNs: 3e9, popularity: { kind: 'zipf', s: 1 } },
    ]);
    const files = { 'trace.csv': MINUTES };
    const azure = await experiment(zipf, ['workload.kind=azure-2019', 'workload.path=trace.csv'], files);
    expect(azure.workloads[0]).not.toHaveProperty('popularity');
    const list = `\n  - ${zipf}\n  - ${zipf}`;
    const one = await experiment(list, ['workload.1.kind=azure-2019', 'workload.1.path=trace.csv'], files);
    expect(one.workloads.map((workload) => 'popularity' in workload)).toEqual([true, false]);
  });
});

it.each([
  ['workload:\n  - { kind: poisson, rate: 5/s, duration: 1s }\n', 3, 'workload.0.length'],
  ['workload:\n  kind: poisson\n  rate: 5/s\n  duration: 1s\n', 2, 'workload.length'],
])('names file, line and key of a workload that lacks lengths: %j', async (workload, line, key) => {
  const profile = join(process.cwd(), 'experiments/profiles/bert-base.estimate.v100.json');
  const text = `models: { kind: profile, path: ${profile} }\n${workload}`;
  const opening = parseExperiment(text, 'lengths.yaml').then(openWorkloads);
  await expect(opening).rejects.toMatchObject({
    code: 'E_CONFIG_VALUE',
    place: { file: 'lengths.yaml', line, key },
  });
});

it('names the override that set a slice of minutes outside the trace', async () => {
  const text = 'models: { kind: zoo, varieties: 2 }\nworkload: { kind: azure-2019, path: t.csv }\n';
  const folder = mkdtempSync(join(tmpdir(), 'escapement-'));
  writeFileSync(join(folder, 't.csv'), 'HashFunction,1,2\nf,1,1\n');
  const opening = parseExperiment(text, join(folder, 'x.yaml'), ['workload.minutes=1:9']).then(openWorkloads);
  await expect(opening).rejects.toMatchObject({ place: { flag: '--set workload.minutes=1:9' } });
});
