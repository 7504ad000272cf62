import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { STREAMS, seedChanges } from '../../src/run/random-streams.js';
import { simulate } from '../../src/run/simulated.js';
import { BASE, load } from '../config/experiment-files.js';

/** Bursts that are too much for the GPU, and pauses. */
const LOG = `arrival_ns,model_id,slo_ns\n${Array.from({ length: 400 }, (_, i) => `${Math.floor(i / 40) * 100_000_000 + (i % 40) * 500_000},${i % 2},100000000`).join('\n')}\n`;
const REPLAY = BASE.replace(/^workload:.*$/m, 'workload: { kind: arrivals, path: arrivals.csv }');
const ROWS_2021 = `app,func,end_timestamp,duration\n${Array.from({ length: 50 }, (_, i) => `a,f${i % 3},${1 + i / 10},0.5`).join('\n')}\n`;
const LLM = `TIMESTAMP,ContextTokens,GeneratedTokens\n${Array.from({ length: 50 }, (_, i) => `2023-11-16 18:17:0${Math.floor(i / 10)}.${i % 10}000000,${10 + i},5`).join('\n')}\n`;
const DAY_2019 = `HashOwner,HashApp,HashFunction,Trigger,${Array.from({ length: 1440 }, (_, i) => i + 1).join(',')}\no,a,f,http,${new Array(1440).fill(3).join(',')}\n`;

const files = { 'arrivals.csv': LOG, '2021.csv': ROWS_2021, 'llm.csv': LLM, '2019.csv': DAY_2019 };

function workload(text: string): string {
  return BASE.replace(/^workload:.*$/m, `workload: { ${text} }`);
}

/** A pipeline of one step. */
function pipeline(more: string): string {
  const steady = workload('kind: fixed, rate: 50/s, duration: 1s');
  return `${steady}pipelines: { name: p, steps: [{ model: "0", ${more} }] }\n`;
}

async function digests(text: string, overrides: readonly string[]) {
  const runs = [1, 2, 3].map(async (seed) => {
    const experiment = await load(text, [...overrides, `seed=${seed}`], files);
    return { ...(await simulate(experiment)), varies: seedChanges(experiment) };
  });
  const results = await Promise.all(runs);
  return { distinct: new Set(results.map(({ summary }) => summary.digest)).size, results };
}

describe('a run that no seed changes', () => {
  const same: readonly (readonly [string, string, ...string[]])[] = [
    ['a replayed log', REPLAY],
    ['the same faster', REPLAY, 'workload.speed=2'],
    ['a constant delay and overhead', REPLAY, 'cluster.network.delay=1ms', 'cluster.overhead=1ms'],
    ['a changing clock', REPLAY, 'cluster.gpuClock=[{at: 200ms, factor: 0.5}]'],
    ['a file of 2021', workload('kind: azure-2021, path: 2021.csv')],
    ['tokens of one model', workload('kind: azure-llm, path: llm.csv, models: ["0"]')],
    ['a pipeline that always does the same', pipeline('fanOut: 2')],
    ['a fixed rate on one model', workload('kind: fixed, rate: 50/s, duration: 1s, models: ["0"]')],
  ];
  it.each(same)(
    'is known before it runs, and says how it came together: %s',
    async (_, text, ...overrides) => {
      const { distinct, results } = await digests(text, overrides);
      expect(distinct).toBe(1);
      for (const { varies, slices, summary } of results) {
        expect([varies, slices?.oneSample]).toEqual([false, true]);
        const [section] = slices!.sections;
        expect(section!.offered.reduce((sum, count) => sum + count)).toBe(summary.requests.offered);
        expect(section!.ok.reduce((sum, count) => sum + count)).toBe(summary.requests.ok);
        expect(section!.offered).toHaveLength(slices!.seconds.length);
      }
    },
  );

  const other: readonly (readonly [string, string, ...string[]])[] = [
    ['exec-noise', REPLAY, 'cluster.noise.exec=10%'],
    ['exec-noise', REPLAY, 'cluster.noise.stragglers=10%'],
    ['exec-noise', REPLAY, 'cluster.noise.distribution=exponential'],
    ['exec-noise', REPLAY, 'cluster.changes=[{at: 100ms, noise: {exec: 10%}}]'],
    ['load-noise', REPLAY, 'cluster.noise.load=10%'],
    ['profile-error', REPLAY, 'cluster.noise.profile=20%'],
    ['network', REPLAY, 'cluster.network.jitter=1ms'],
    ['network', REPLAY, 'cluster.changes=[{at: 100ms, network: {jitter: 1ms}}]'],
    ['clock-offset', REPLAY, 'cluster.clockOffset=1ms'],
    ['copies', REPLAY, 'workload.scale=0.5'],
    ['copies', REPLAY, 'workload.scale=2'],
    ['copies', REPLAY, 'traffic.factor=2'],
    ['pipelines', pipeline('fanOut: { kind: uniform, to: 3 }')],
    ['pipelines', pipeline('probability: 50%')],
    ['boost', REPLAY, 'traffic.models={"*": 2}'],
    ['arrivals', BASE, 'workload.duration=1s'],
    ['arrivals', workload('kind: gamma, rate: 50/s, cv: 2, duration: 1s, models: ["0"]')],
    ['arrivals', workload('kind: closed-loop, clients: 2, think: 10ms, duration: 1s')],
    ['functions', workload('kind: azure-2019, path: 2019.csv, minutes: "0:2", interval: 1s')],
    ['trace', workload('kind: azure-like, functions: 5, minutes: 2, rate: 50/s, interval: 1s')],
    ['models', workload('kind: azure-llm, path: llm.csv')],
    ['models', workload('kind: fixed, rate: 50/s, duration: 1s')],
  ];
  it.each(other)('is not one that draws from %s', async (stream, text, ...overrides) => {
    const { distinct, results } = await digests(text, overrides);
    expect(distinct).toBeGreaterThan(1);
    // Seeds replay one log, whose own spread shows over time alone.
    const ofLog = /kind: (arrivals|azure-(?!like))/.test(text) ? false : undefined;
    for (const { varies, slices } of results) expect([varies, slices?.oneSample]).toEqual([true, ofLog]);
    expect(STREAMS[stream]!(await load(text, overrides, files))).toBe(true);
  });

  it('knows every stream of the simulator and the workloads', () => {
    const sources = ['sim', 'workload', 'scalers', 'core', 'policies'].flatMap((room) =>
      readdirSync(join('src', room), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => join('src', room, file)),
    );
    const drawn = sources
      // What writes a trace to a file is no part of a run.
      .filter((file) => !/trace-write\.ts$|import-trace\.ts$/.test(file))
      .flatMap((file) => [
        ...readFileSync(file, 'utf8').matchAll(/(?:frame\.random\(|\bstream\(\w+(?:\.\w+)*, )'([\w-]+)'/g),
      ])
      .map(([, name]) => name);
    expect(new Set(drawn)).toEqual(new Set(Object.keys(STREAMS)));
  });
});
