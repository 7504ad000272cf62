import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type CellTask, runCell } from '../../../src/run/sweep/run-cell.js';
import { tempDir } from '../../cli/run-cli.js';
import { cellTask } from './fixtures.js';

const EXPERIMENT = `
cluster: { gpus: 1, memory: 1GiB }
models: { kind: zoo, varieties: 1, copies: 1 }
workload: { kind: azure-2021, path: trace.csv }
slo: 100ms
policy: { kind: fifo }
`;
const TRACE = 'app,func,end_timestamp,duration\na,f,1.5,0.5\na,f,2.5,0.5\na,f,3.5,0.5\n';

const LATER_MS = 1000;

/** A content that was changed without a sign shows whether it was read again. */
it('reuses the trace that an earlier cell has read, unless the file was changed', async () => {
  const dir = tempDir();
  const trace = join(dir, 'trace.csv');
  const task: CellTask = { ...cellTask('small'), text: EXPERIMENT, file: join(dir, 'experiment.yaml') };
  const put = (text: string, mtimeMs: number) => {
    writeFileSync(trace, text);
    utimesSync(trace, new Date(mtimeMs), new Date(mtimeMs));
  };
  put(TRACE, 0);
  const first = await digestOf(task);
  put(TRACE.replace('3.5', '2.9'), 0);
  expect(await digestOf(task)).toBe(first);
  put(TRACE.replace('3.5', '2.9'), LATER_MS);
  expect(await digestOf(task)).not.toBe(first);
});

it('keeps the 20 worst models, and those that thresholds are about', async () => {
  const text = `
models: { kind: zoo, varieties: 1, copies: 30 }
workload: { kind: poisson, rate: 300/s, duration: 1s }
policy: { kind: fifo }
`;
  const modelsOf = async (metrics: string[]) => {
    const outcome = await runCell({ ...cellTask('many'), text, metrics });
    if (outcome.status !== 'done') throw new Error(outcome.message);
    return JSON.parse(outcome.json).summary.by.model.map(({ key }: { key: string }) => key);
  };
  const worst: string[] = await modelsOf([]);
  expect(worst).toHaveLength(20);
  const other = Array.from({ length: 30 }, (_, i) => `resnet50-${i}`).find((name) => !worst.includes(name))!;
  expect(await modelsOf([`model.${other}.p99`])).toEqual([...worst, other]);
});

async function digestOf(task: CellTask): Promise<string> {
  const outcome = await runCell(task);
  if (outcome.status !== 'done') throw new Error(outcome.message);
  return JSON.parse(outcome.json).summary.digest;
}
