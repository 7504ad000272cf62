import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { VariedKey } from '../../../src/record/results.js';
import {
  buildGrid,
  type GridCell,
  mergeCells,
  type PlannedCell,
  planSweep,
} from '../../../src/run/sweep/plan-sweep.js';
import { BASE, folder } from '../../config/experiment-files.js';
import { expected, rowsOf } from '../../rows.js';
import { cellTask } from './fixtures.js';

const VARY: VariedKey[] = [
  { key: 'policy.scheduleAhead', values: ['2ms', '4ms'] },
  { key: 'policy.kind', values: ['clockwork', 'edf', 'fifo'] },
];

/** A plan in which `experimentOf` names what a cell would run; null: the cell is refused. */
function plan(
  vary: readonly VariedKey[],
  seeds: readonly number[],
  experimentOf: (cell: GridCell) => string | null,
): PlannedCell[] {
  return buildGrid(vary, seeds).map((cell): PlannedCell => {
    const said = experimentOf(cell);
    if (said === null)
      return { cell, task: null, refused: { status: 'failed', code: 'E_X', message: 'no room' } };
    return { cell, task: cellTask(`${said} ${cell.seed}`), notes: [] };
  });
}

const onlyClockwork = ({ values }: GridCell) =>
  `${values['policy.kind']}${values['policy.kind'] === 'clockwork' ? values['policy.scheduleAhead'] : ''}`;

describe('mergeCells', () => {
  it('leaves one cell, without the key, where its values change nothing', () => {
    const merged = mergeCells(plan(VARY, [1, 2], onlyClockwork), VARY);
    expect(merged.map(({ cell }) => cell.id)).toEqual([
      'policy.scheduleAhead=2ms policy.kind=clockwork seed=1',
      'policy.scheduleAhead=2ms policy.kind=clockwork seed=2',
      'policy.kind=edf seed=1',
      'policy.kind=edf seed=2',
      'policy.kind=fifo seed=1',
      'policy.kind=fifo seed=2',
      'policy.scheduleAhead=4ms policy.kind=clockwork seed=1',
      'policy.scheduleAhead=4ms policy.kind=clockwork seed=2',
    ]);
    expect(merged[2]!.cell.values).toEqual({ 'policy.kind': 'edf' });
  });

  it('keeps cells that cannot run, each with its reason', () => {
    const merged = mergeCells(
      plan(VARY, [1], () => null),
      VARY,
    );
    expect(merged).toHaveLength(6);
  });

  it('keeps a key with a single value, which says what was run', () => {
    const vary = [{ key: 'policy.kind', values: ['edf'] }];
    expect(
      mergeCells(
        plan(vary, [1], () => 'edf'),
        vary,
      )[0]!.cell.values,
    ).toEqual({ 'policy.kind': 'edf' });
  });
});

/** A sweep section, `--vary` in its place if given, and the message. */
const MISTAKES = String.raw`
vary: { polcy.maxBatch: 1 } |  | /exp\.yaml:8: sweep\.vary\.polcy\.maxBatch: unknown key "polcy": did you mean "policy"\?$/
vary:\n    slo: 10ms\n    slo.x: 1 |  | /exp\.yaml:10: sweep\.vary\.slo\.x: slo is a plain value and has no keys$/
vary: { policy.fairness: [0.5, 1] } | policy.maxDelay=1ms,2ms | /^--vary policy\.maxDelay=1ms: .* has no maxDelay, a key of /
vary: { policy.kind: [fifo, edf], policy.fairness: [0.5, 1] } |  | /exp\.yaml:8: sweep\.vary\.policy\.fairness: no cell depends on policy\.fairness: leave it out/
vary: { policy.fairness: [0.5, 1] }\n  cases: { by: { one: { policy.kind: fifo }, two: { policy.kind: edf } } } |  | /sweep\.vary\.policy\.fairness: fifo has no fairness/
vary: { slo: 10ms } | seed=1,2 | /^--vary seed=1,2: seeds are varied with --seeds/
`;

describe('planSweep', () => {
  const file = join(folder(), 'exp.yaml');
  const planned = (sweep: string, ...vary: string[]) => {
    writeFileSync(file, `${BASE}sweep:\n  ${sweep}\n`);
    return planSweep({ file, vary, seeds: undefined, overrides: [], version: '1', required: [] });
  };

  it.each([
    'vary: { policy.kind: [clockwork, fifo], policy.maxDelay: [1ms, 5ms] }',
    'vary: { cluster.gpus.t4: [1, 2] }\n  cases: { fleet: { mixed: { cluster.gpus: [{ kind: t4, count: 1 }] } } }',
  ])('varies what some kind or case has: %s', async (sweep) => {
    expect((await planned(sweep)).planned.some(({ task }) => task !== null)).toBe(true);
  });

  it.each(rowsOf(MISTAKES))('refuses %s', async (sweep, vary, message) => {
    const error = await planned(sweep!, ...(vary === '' ? [] : [vary!])).catch(
      (error: Error) => error.message,
    );
    expect(error).toEqual(expected(message));
  });
});
