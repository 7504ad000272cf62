import { mkdtempSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { parseExperiment } from '../../../src/config/load.js';
import { boundKey, cellKey } from '../../../src/run/sweep/cell-key.js';

let trace = '';
beforeEach(() => {
  trace = join(mkdtempSync(join(tmpdir(), 'escapement-')), 'trace.csv');
  writeFileSync(trace, 'arrival_ns,model_id,slo_ns\n100,0,1000000\n');
});

test('what decides nothing does not change the key: comments, defaults written out, the path', async () => {
  const plain = await key('');
  expect(await key('# a comment\n')).toBe(plain);
  expect(await key('warmup: 0s\n')).toBe(plain);
  expect(await key('runtime: { intraOpThreads: 2 }\n')).toBe(plain);
  expect(await key('', { file: 'run.yaml', version: '1' })).toBe(plain);
});

test('whatever decides the result changes the key', async () => {
  const keys = [
    await key(''),
    await key('seed: 2\n'),
    await key('slo: 50ms\n'),
    await key('cluster: { copyBandwidth: 12GB/s }\n'),
    await key('', { version: '2' }),
  ];
  utimesSync(trace, 1, 1);
  keys.push(await key(''));
  writeFileSync(trace, 'arrival_ns,model_id,slo_ns\n100,0,1000000\n200,0,1000000\n');
  keys.push(await key(''));
  expect(new Set(keys).size).toBe(keys.length);
});

test('cells whose workload, models, GPUs and batches are the same share a bound', async () => {
  const plain = await key('', { of: boundKey });
  for (const same of [
    'policy: { kind: clockwork, scheduleAhead: 1ms }\n',
    'cluster: { noise: { exec: 5% }, network: { delay: 1ms } }\n',
    'admission: predict\n',
  ])
    expect(await key(same, { of: boundKey })).toBe(plain);
  const others = [
    'policy: { kind: clockwork, maxBatch: 4 }\n',
    'cluster: { gpus: 2 }\n',
    'cluster: { noise: { profile: 5% } }\n',
    'slo: 50ms\n',
    'seed: 2\n',
    'warmup: 1us\n',
  ];
  const keys = await Promise.all(others.map((extra) => key(extra, { of: boundKey })));
  expect(new Set([plain, ...keys]).size).toBe(others.length + 1);
});

test('results with other percentiles are other results, of which the bound is the same', async () => {
  const [plain, asked] = [await key(''), await key('', { percentiles: [99.95] })];
  expect(asked).not.toBe(plain);
  expect(await key('', { of: boundKey, percentiles: [99.95] })).toBe(await key('', { of: boundKey }));
});

async function key(
  extra: string,
  { file = 'here.yaml', version = '1', of = cellKey, percentiles = [] as number[] } = {},
): Promise<string> {
  const text = `name: run
models: { kind: fit, parameters: 25.6M }
workload: { kind: arrivals, path: ${trace} }
${extra}`;
  return of(await parseExperiment(text, file), version, percentiles);
}
