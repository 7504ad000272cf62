import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadExperiment } from '../../src/config/load.js';
import { rowsOf } from '../rows.js';
import { BASE, folder, load } from './experiment-files.js';

describe('loadExperiment', () => {
  it('reads a file into canonical units, with the defaults of the schema', async () => {
    const experiment = await load(BASE);
    expect(experiment).toMatchObject({
      name: 'exp',
      seed: 1,
      cluster: {
        ...{ gpus: 1, workers: 1, pages: 1376, pageBytes: 16 * 1024 * 1024, oneLane: false },
        ...{ copyBytesPerS: Number.POSITIVE_INFINITY, clockOffsetNs: 0, overheadNs: 0 },
        ...{ network: { delayNs: 0, jitterNs: 0 }, gpuClock: [], failures: [], slowdowns: [], changes: [] },
        noise: { distribution: 'normal', exec: 0, load: 0, stragglers: 0, stragglerFactor: 10, profile: 0 },
      },
      workloads: [{ kind: 'poisson', rateRps: 600, durationNs: 20e9, popularity: { kind: 'uniform' } }],
      sloNs: 100e6,
      policy: { kind: 'clockwork', options: { scheduleAhead: 10e6, maxBatch: 8, maxExec: 250e6 } },
      admission: 'predict',
      warmupNs: 0,
      checks: false,
      output: { requestLog: true, actionLog: true, parquet: false, timeline: 'worst' },
      live: { device: 'simulated', timeScale: 1 },
      modelFiles: [null, null],
      spreads: [[null, null]],
    });
    expect(experiment.policy.options.latestDelta).toBeUndefined();
    expect(experiment.models.map(({ name }) => name)).toEqual(['0', '1']);
  });

  it('lets the column of an arrivals file stand unless the file sets an SLO', async () => {
    const arrivals = BASE.replace(
      'kind: poisson, rate: 600/s, duration: 20s',
      'kind: arrivals, path: arrivals.csv',
    );
    const withoutSlo = arrivals.replace('slo: 100ms\n', '');
    expect((await load(arrivals)).workloads[0]).toMatchObject({ overrideSlo: true });
    expect((await load(withoutSlo)).workloads[0]).toMatchObject({ overrideSlo: false });
    expect((await load(withoutSlo)).sloNs).toBe(100e6);
    expect((await load(withoutSlo, ['slo=50ms'])).workloads[0]).toMatchObject({ overrideSlo: true });
    expect((await load(withoutSlo, ['workload.slo=50ms'])).workloads[0]).toMatchObject({
      overrideSlo: true,
      sloNs: 50e6,
    });
  });

  it('reads every key of the cluster', async () => {
    const experiment = await load(
      BASE.replace(
        'cluster: { gpus: 1, pages: 1376 }',
        `cluster:
  gpus: 6
  workers: 3
  memory: 1GiB
  pageSize: 8MiB
  copyBandwidth: 12.2GB/s
  network: { delay: 100us, jitter: 20us }
  clockOffset: 1ms
  noise: { exec: 1%, load: 2%, stragglers: 0.1%, stragglerFactor: 5, profile: 15%, scale: { '1': 1.1 } }
  lanes: one
  overhead: 50us
  gpuClock: [{ at: 10s, gpu: 2, factor: 0.8 }, { at: 5s, factor: 0.9 }]
  failures:
    - { at: 2s, gpu: 1, for: 3s, billed: false }
    - { at: 6s, gpu: 0, for: forever, slowdown: 4 }
    - { at: 9s, gpu: 2, for: 2s, slowdown: 2 }
    - { rate: 36/h, repair: 10s }
  changes:
    - { at: 9s, noise: { exec: 5% } }
    - { at: 4s, network: { delay: 5ms } }`,
      ),
    );
    const scaled = { min: 6, max: 6, startNs: 0, minLifetimeNs: 0 };
    const kind = {
      ...{ name: null, gpus: 6, on: 6, scaled, pages: 128, pricePerHour: null, speed: 1, device: null },
    };
    const noise = { exec: 0.01, load: 0.02, stragglers: 0.001, stragglerFactor: 5 };
    expect(experiment.cluster).toEqual({
      ...{ gpus: 6, kinds: [kind], listed: [kind], kindNames: [], workers: 3, pages: 128 },
      ...{ pageBytes: 8 * 1024 * 1024, copyBytesPerS: 12.2e9, oneLane: true },
      ...{ clockOffsetNs: 1_000_000, overheadNs: 50_000, abortNs: 1_000_000 },
      network: { delayNs: 100_000, jitterNs: 20_000 },
      noise: { distribution: 'normal', ...noise, profile: 0.15, scale: { '1': 1.1 } },
      gpuClock: [
        { atNs: 5e9, gpu: -1, factor: 0.9 },
        { atNs: 6e9, gpu: 0, factor: 0.9 / 4, isSlow: true },
        { atNs: 9e9, gpu: 2, factor: 0.9 / 2, isSlow: true },
        { atNs: 10e9, gpu: 2, factor: 0.8 },
        // Slow still, by its new clock, which it has alone at the end.
        { atNs: 10e9, gpu: 2, factor: 0.8 / 2, isSlow: true },
        { atNs: 11e9, gpu: 2, factor: 0.8, isSlow: true },
      ],
      failures: [
        { atNs: 2e9, gpu: 1, forNs: 3e9, isBilled: false },
        { perNs: 0.01 / 1e9, repairNs: 10e9, isBilled: true },
      ],
      slowdowns: [
        { gpu: 0, atNs: 6e9, untilNs: Number.POSITIVE_INFINITY, times: 4 },
        { gpu: 2, atNs: 9e9, untilNs: 11e9, times: 2 },
      ],
      // By time, each with all that is in force from then on.
      changes: [
        { atNs: 4e9, noise, network: { delayNs: 5_000_000, jitterNs: 20_000 } },
        { atNs: 9e9, noise: { ...noise, exec: 0.05 }, network: { delayNs: 5_000_000, jitterNs: 20_000 } },
      ],
    });
  });
});

it('refuses a change of conditions that changes nothing', async () => {
  const nothing = load(BASE.replace(/^cluster:.*$/m, 'cluster: { gpus: 2, changes: [{ at: 1s }] }'));
  await expect(nothing).rejects.toMatchObject({
    code: 'E_CONFIG_VALUE',
    message: expect.stringContaining('cluster.changes.0: changes nothing: give noise or network'),
  });
});

/** A section as written, and in canonical names and units. */
const SECTIONS = `
{ kind: poisson, rate: 1000/s, duration: 60s, popularity: { kind: zipf, s: 0.9 } } | {"kind":"poisson","rateRps":1000,"durationNs":60000000000,"popularity":{"kind":"zipf","s":0.9}}
{ kind: fixed, rate: 6k/m, duration: 1m, start: 5s, slo: 20ms, models: "*" } | {"kind":"fixed","rateRps":100,"durationNs":60000000000,"popularity":{"kind":"uniform"},"startNs":5000000000,"sloNs":20000000,"models":["*"]}
{ kind: gamma, rate: 10/s, cv: 4, duration: 1s, models: [0, 1] } | {"kind":"gamma","rateRps":10,"cv":4,"durationNs":1000000000,"popularity":{"kind":"uniform"},"models":["0","1"]}
{ kind: on-off, onRate: 100/s, on: 1s, off: 2s, duration: 1m } | {"kind":"on-off","onRateRps":100,"offRateRps":0,"onNs":1000000000,"offNs":2000000000,"durationNs":60000000000,"popularity":{"kind":"uniform"}}
{ kind: ramp, from: 0/s, to: 500/s, duration: 1m } | {"kind":"ramp","fromRateRps":0,"toRateRps":500,"durationNs":60000000000,"popularity":{"kind":"uniform"}}
{ kind: closed-loop, clients: 4, think: 10ms, duration: 1m } | {"kind":"closed-loop","clients":4,"concurrency":1,"thinkNs":10000000,"durationNs":60000000000}
{ kind: azure-2019, path: trace.csv, scale: 10 } | {"kind":"azure-2019","path":"trace.csv","scale":10,"assign":"blocks","intervalNs":60000000000}
{ kind: azure-2019, path: trace.csv, minutes: 600:660, interval: 1s, assign: stripe, duration: 30s } | {"kind":"azure-2019","path":"trace.csv","scale":1,"assign":"stripe","minutes":[600,660],"intervalNs":1000000000,"durationNs":30000000000}
{ kind: azure-2021, path: trace.csv, speed: 2 } | {"kind":"azure-2021","path":"trace.csv","scale":1,"assign":"blocks","speed":2}
{ kind: azure-llm, path: trace.csv } | {"kind":"azure-llm","path":"trace.csv","scale":1,"speed":1,"popularity":{"kind":"uniform"}}
{ kind: azure-like, functions: 100, minutes: 10, rate: 50/s } | {"kind":"azure-like","functions":100,"minutes":10,"rateRps":50,"scale":1,"assign":"blocks","intervalNs":60000000000}
`;

describe('workload sections', () => {
  const FILES = { 'trace.csv': 'x\n' };
  it.each(rowsOf(SECTIONS))('%s', async (text = '', json = '') => {
    const spec = JSON.parse(json);
    const path = folder({
      'exp.yaml': BASE.replace('{ kind: poisson, rate: 600/s, duration: 20s }', text),
      ...FILES,
    });
    const { workloads } = await loadExperiment(join(path, 'exp.yaml'));
    expect(workloads).toEqual(['path' in spec ? { ...spec, path: join(path, 'trace.csv') } : spec]);
  });
});

describe('policies', () => {
  it('drop what only another policy has when an override chooses them', async () => {
    const tuned = BASE.replace('{ kind: clockwork }', '{ kind: clockwork, scheduleAhead: 5ms, maxBatch: 4 }');
    const { policy } = await load(tuned, ['policy.kind=fifo']);
    expect(policy).toMatchObject({ kind: 'fifo', options: { maxBatch: 4 } });
    expect(policy.options).not.toHaveProperty('scheduleAhead');
    const both = await load(tuned, ['policy.kind=fifo', 'policy.maxDelay=1ms']);
    expect(both.policy.options).toMatchObject({ maxDelay: 1_000_000 });
  });

  it('that are not named but given options are the default with them', async () => {
    const unnamed = (options: string) => load(BASE.replace(/^policy.*$/m, `policy: { ${options} }`));
    const { policy } = await unnamed('scheduleAhead: 5ms');
    expect(policy).toMatchObject({ kind: 'escapement', options: { scheduleAhead: 5_000_000 } });
    await expect(unnamed('latestDelta: 5ms')).rejects.toThrow(
      /policy\.latestDelta: escapement, the default, has no latestDelta, a key of clockwork: remove it or choose policy\.kind=clockwork/,
    );
  });
});

describe('output', () => {
  it('takes a slice for the timeline, or none', async () => {
    expect((await load(BASE, ['output.timeline=[500ms, 1s]'])).output.timeline).toEqual([500e6, 1e9]);
    expect((await load(BASE, ['output={timeline: false, requestLog: false}'])).output).toEqual({
      requestLog: false,
      actionLog: true,
      parquet: false,
      timeline: null,
    });
  });
});
