import { expect, it } from 'vitest';
import { decisionsTable } from '../../../src/report/pages/decisions-table.js';
import { runPage } from '../../../src/report/pages/run-page.js';
import { runFixture } from '../fixtures.js';

const decision = (i: number) => ({ atSeconds: 10 * i, gpus: [i, 1], reason: `reason ${i}` });
const textOf = (page: string) => page.replaceAll(/<[^>]*>|\n/g, ' ').replaceAll(/ +/g, ' ');

it('lists when a scaler wanted another number of GPUs, by kind, and why', () => {
  const table = decisionsTable({ kinds: ['v100', 't4'], decisions: [decision(3), decision(4)] });
  expect(textOf(table.text)).toContain('At, s v100 t4 Why so many GPUs 30 3 1 reason 3 40 4 1 reason 4');
});

it('names how many it leaves out', () => {
  const decisions = Array.from({ length: 203 }, (_, i) => decision(i));
  const { text } = decisionsTable({ kinds: ['v100', 't4'], decisions });
  expect(text).toContain('All 203 times');
  expect(text).toContain('reason 199<');
  expect(text).not.toContain('reason 200<');
  expect(text).toContain('3 more are in run.json');
});

it('is on the page of a run with a scaler', () => {
  const run = runFixture({ sloMs: 100, goodputRps: 50 });
  const scaling = { scaler: 'reactive', gpuHours: 2, meanGpus: 2, mostGpus: 3, ordered: 1, stopped: 1 };
  const fleet = { kinds: ['t4'], steps: [], decisions: [decision(2)] };
  const page = runPage({ ...run, summary: { ...run.summary, scaling }, fleet }, []);
  expect(textOf(page)).toContain('20 2 1 reason 2');
});
