import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { PolicyNote } from '../../../src/record/results.js';
import { buildGrid, type PlannedCell } from '../../../src/run/sweep/plan-sweep.js';
import type { CellRunner } from '../../../src/run/sweep/pool.js';
import type { CellOutcome, CellTask } from '../../../src/run/sweep/run-cell.js';
import { notesOfAll, runSweep } from '../../../src/run/sweep/sweep-experiment.js';
import { CellStore } from '../../../src/run/sweep/units.js';
import { cellResult, cellTask } from './fixtures.js';

const VARY = [{ key: 'slo', values: ['10ms', '25ms', '50ms'] }];
const HEADER = {
  escapement: '1.2.3',
  name: 'test',
  experiment: 'seed: 1\n',
  defaults: { slo: '100ms' },
  vary: VARY,
  seeds: [1, 2],
};
const PLANNED: PlannedCell[] = buildGrid(VARY, [1, 2]).map((cell, i) => ({
  cell,
  task: cellTask(`key${i}`),
  notes: [],
}));

let outDir = '';
beforeEach(() => {
  outDir = mkdtempSync(join(tmpdir(), 'escapement-'));
});

test('says that an SLO is too short only if it is in every cell', () => {
  const slo = { kind: 'note', text: 'slo: 15ms is shorter' } as const;
  const shares = { kind: 'warning', policy: 'edf', text: 'shares' } as const;
  const notesOf = (...notes: PlannedCell[]) => notesOfAll(notes).map(({ text }) => text);
  const cell = (notes: readonly PolicyNote[]): PlannedCell => ({
    ...{ cell: PLANNED[0]!.cell, task: cellTask('a'), notes },
  });
  const refused: PlannedCell = {
    ...{ cell: PLANNED[0]!.cell, task: null },
    refused: { status: 'failed', code: 'E_MODEL_TOO_LARGE', message: 'too large' },
  };
  expect(notesOf(cell([slo]), cell([slo, shares]), refused)).toEqual([slo.text, slo.text, 'shares']);
  expect(notesOf(cell([slo]), cell([shares]))).toEqual(['shares']);
  expect(notesOf(cell([slo]), cell([{ ...slo, text: 'slo: 10ms is shorter' }]))).toEqual([]);
});

test('results are in the order of the grid, whichever cell ends first', async () => {
  const forwards = await runSweep(
    HEADER,
    PLANNED,
    new CellStore(join(outDir, 'a'), true),
    runner(),
    () => {},
  );
  const backwards = await runSweep(
    HEADER,
    PLANNED,
    new CellStore(join(outDir, 'b'), true),
    runner({ last: true }),
    () => {},
  );
  expect(forwards.cells.map(({ id }) => id)).toEqual(PLANNED.map(({ cell }) => cell.id));
  expect(JSON.stringify(backwards)).toBe(JSON.stringify(forwards));
});

test('a sweep that was stopped goes on with the cells that are missing, and ends the same', async () => {
  const whole = await runSweep(
    HEADER,
    PLANNED,
    new CellStore(join(outDir, 'whole'), true),
    runner(),
    () => {},
  );
  await runSweep(HEADER, PLANNED.slice(0, 4), new CellStore(outDir, true), runner(), () => {});
  const ran: string[] = [];
  const reused: boolean[] = [];
  const resumed = await runSweep(HEADER, PLANNED, new CellStore(outDir, true), runner({ ran }), (_, found) =>
    reused.push(found.status === 'done' && found.reused),
  );
  expect(ran).toEqual(['key4', 'key5']);
  expect(reused.filter(Boolean)).toHaveLength(4);
  expect(JSON.stringify(resumed)).toBe(JSON.stringify(whole));
});

test('a stored cell that is not a result of this program runs again', async () => {
  const store = new CellStore(outDir, true);
  await runSweep(HEADER, PLANNED, store, runner(), () => {});
  writeFileSync(join(outDir, 'cells', 'key2.json'), '{"version":1}');
  writeFileSync(join(outDir, 'cells', 'key3.json'), '{"vers');
  const ran: string[] = [];
  await runSweep(HEADER, PLANNED, store, runner({ ran }), () => {});
  expect(ran).toEqual(['key2', 'key3']);
});

test('a failed cell is recorded with its reason, loses no other, and runs again next time', async () => {
  const store = new CellStore(outDir, true);
  const failing = runner({ fail: 'key1' });
  const { cells } = await runSweep(HEADER, PLANNED, store, failing, () => {});
  expect(cells[1]).toMatchObject({
    id: 'slo=10ms seed=2',
    status: 'failed',
    code: 'E_TRACE_VALUE',
    message: 'bad row',
  });
  expect(cells.filter(({ status }) => status === 'done')).toHaveLength(5);
  const ran: string[] = [];
  await runSweep(HEADER, PLANNED, store, runner({ ran }), () => {});
  expect(ran).toEqual(['key1']);
});

const BOUND = {
  offeredRps: 100,
  fluidRps: 99,
  windowLimitedRps: 90,
  pricedRps: 80,
  timePricedRps: 80,
  bestRps: 80,
};
/** Repetitions of one seed share a bound. */
const BOUNDED: PlannedCell[] = PLANNED.map((plan) =>
  plan.task === null ? plan : { ...plan, bound: { ...plan.task, key: `bound${plan.cell.seed}` } },
);

test('a bound that cells share is found once, stored apart, and part of each result', async () => {
  const store = new CellStore(outDir, true);
  const ran: string[] = [];
  const results = await runSweep(HEADER, BOUNDED, store, runner({ ran }), () => {});
  expect(ran.filter((key) => key.startsWith('bound'))).toEqual(['bound1', 'bound2']);
  expect(results.cells.map((cell) => cell.status === 'done' && cell.result.bound)).toEqual(
    PLANNED.map(() => BOUND),
  );
  const again: string[] = [];
  const resumed = await runSweep(HEADER, BOUNDED, store, runner({ ran: again, last: true }), () => {});
  expect(again).toEqual([]);
  expect(JSON.stringify(resumed)).toBe(JSON.stringify(results));
  // The results of a sweep that asks for no bound, and starts from these, know none.
  const { cells } = await runSweep(HEADER, PLANNED, store, runner(), () => {});
  expect(cells.some((cell) => cell.status === 'done' && 'bound' in cell.result)).toBe(false);
});

test('where there is no bound, the cells that ask for it fail, and keep their results for later', async () => {
  const store = new CellStore(outDir, true);
  const { cells } = await runSweep(HEADER, BOUNDED, store, runner({ fail: 'bound2' }), () => {});
  expect(cells.map(({ status }) => status)).toEqual(['done', 'failed', 'done', 'failed', 'done', 'failed']);
  expect(cells[1]).toMatchObject({ code: 'E_TRACE_VALUE', message: 'bad row' });
  const ran: string[] = [];
  await runSweep(HEADER, BOUNDED, store, runner({ ran }), () => {});
  expect(ran).toEqual(['bound2']);
});

test('cells of the same result run once, each under its own names, with fields in the same order', async () => {
  const ran: string[] = [];
  const twins = PLANNED.slice(0, 2).map((plan, i) => ({
    ...plan,
    task: { ...cellTask('key0'), name: `name${i}`, plugin: `plugin${i}.js` },
  })) as PlannedCell[];
  const kept = { ...cellResult(0), plugin: { file: 'mine.js', digest: '0123456789abcdef' } };
  const run = runner({ ran, result: kept });
  const { cells } = await runSweep(HEADER, twins, new CellStore(outDir, true), run, () => {});
  expect(ran).toEqual(['key0']);
  expect(cells.map((cell) => JSON.stringify(cell.status === 'done' && cell.result))).toEqual(
    [0, 1].map((i) =>
      JSON.stringify({
        ...kept,
        summary: { ...kept.summary, name: `name${i}` },
        plugin: { ...kept.plugin, file: `plugin${i}.js` },
      }),
    ),
  );
});

interface Behaviour {
  /** The first cell ends last. */
  readonly last?: boolean;
  /** Gathers the keys that ran. */
  readonly ran?: string[];
  readonly fail?: string;
  /** Of every cell. */
  readonly result?: object;
}

function runner({ last = false, ran = [], fail = '', result }: Behaviour = {}): CellRunner {
  return {
    async run({ key }: CellTask, job = 'runCell'): Promise<CellOutcome> {
      ran.push(key);
      expect(job).toBe(key.startsWith('bound') ? 'boundCell' : 'runCell');
      const i = Number(key.replace(/\D+/, ''));
      await new Promise((resolve) => setTimeout(resolve, last ? 2 * (PLANNED.length - i) : 2 * i));
      if (key === fail) return { status: 'failed', code: 'E_TRACE_VALUE', message: 'bad row' };
      return {
        status: 'done',
        json: JSON.stringify(job === 'boundCell' ? BOUND : (result ?? cellResult(i))),
      };
    },
    width: 10,
    close: async () => {},
  };
}
