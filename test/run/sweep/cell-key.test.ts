import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { parseExperiment } from '../../../src/config/load.js';
import { boundKey, cellKey } from '../../../src/run/sweep/cell-key.js';
import { tempDir } from '../../cli/run-cli.js';

const ROWS = 'arrival_ns,model_id,slo_ns\n100,0,1000000\n';
let trace = '';
beforeEach(() => {
  trace = join(tempDir(), 'trace.csv');
  writeFileSync(trace, ROWS);
  utimesSync(trace, 1, 1);
});

test('what decides nothing does not change the key: comments, defaults written out, path and name', async () => {
  const plain = await key('');
  expect(await key('# a comment\n')).toBe(plain);
  expect(await key('warmup: 0s\n')).toBe(plain);
  expect(await key('runtime: { intraOpThreads: 2 }\n')).toBe(plain);
  expect(await key('', { file: 'run.yaml', version: '1' })).toBe(plain);
  expect(await key('', { name: 'another' })).toBe(plain);
});

test('where a trace lies and when it was written do not change the keys, of cells and bounds', async () => {
  const before = [await key(''), await key('', { of: boundKey })];
  utimesSync(trace, 2, 2);
  expect([await key(''), await key('', { of: boundKey })]).toEqual(before);
  trace = join(tempDir(), 'copy.csv');
  writeFileSync(trace, ROWS);
  expect([await key(''), await key('', { of: boundKey })]).toEqual(before);
});

test('a trace that is called as if it were packed is read otherwise', async () => {
  const plain = await key('');
  trace = `${trace}.gz`;
  writeFileSync(trace, ROWS);
  expect(await key('')).not.toBe(plain);
});

test('whatever decides the result changes the key', async () => {
  const keys = [
    await key(''),
    await key('seed: 2\n'),
    await key('slo: 50ms\n'),
    await key('cluster: { copyBandwidth: 12GB/s }\n'),
    await key('', { version: '2' }),
  ];
  // As long as it was, at the same time as before.
  writeFileSync(trace, ROWS.replace('100,', '101,'));
  utimesSync(trace, 1, 1);
  keys.push(await key(''));
  writeFileSync(trace, `${ROWS}200,0,1000000\n`);
  keys.push(await key(''));
  expect(new Set(keys).size).toBe(keys.length);
});

test('cells whose workload, models, GPUs and batches are the same share a bound', async () => {
  const plain = await key('', { of: boundKey });
  for (const same of [
    'policy: { kind: clockwork, scheduleAhead: 1ms }\n',
    'cluster: { noise: { exec: 5% }, network: { jitter: 1ms } }\n',
    'admission: predict\n',
  ])
    expect(await key(same, { of: boundKey })).toBe(plain);
  const others = [
    'policy: { kind: clockwork, maxBatch: 4 }\n',
    'cluster: { gpus: 2 }\n',
    'cluster: { network: { delay: 1ms } }\n',
    'pipelines: { name: chain, steps: [{ model: fit-25.6M }] }\n',
    'cluster: { noise: { profile: 5% } }\n',
    'slo: 50ms\n',
    'seed: 2\n',
    'warmup: 1us\n',
  ];
  const keys = await Promise.all(others.map((extra) => key(extra, { of: boundKey })));
  expect(new Set([plain, ...keys]).size).toBe(others.length + 1);
});

test('results with other percentiles or models are other results, of which the bound is the same', async () => {
  const plain = await key('');
  expect(await key('', { metrics: ['goodputRps', 'p99'] })).toBe(plain);
  for (const metric of ['p99.95', 'model.rare.attainment'])
    expect(await key('', { metrics: [metric] })).not.toBe(plain);
  expect(await key('', { of: boundKey, metrics: ['p99.95'] })).toBe(await key('', { of: boundKey }));
});

async function key(
  extra: string,
  { file = 'here.yaml', version = '1', of = cellKey, metrics = [] as string[], name = 'run' } = {},
): Promise<string> {
  const text = `name: ${name}
models: { kind: fit, parameters: 25.6M }
workload: { kind: arrivals, path: ${trace} }
${extra}`;
  return of(await parseExperiment(text, file), version, metrics);
}
