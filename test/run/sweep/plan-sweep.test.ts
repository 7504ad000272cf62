import { describe, expect, it } from 'vitest';
import type { VariedKey } from '../../../src/record/results.js';
import { buildGrid, type GridCell } from '../../../src/run/sweep/grid.js';
import type { PlannedCell } from '../../../src/run/sweep/plan.js';
import { mergeCells } from '../../../src/run/sweep/plan-sweep.js';
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

  it('drops several keys from a cell that depends on none of them', () => {
    const vary = [...VARY, { key: 'policy.maxExec', values: ['1ms', '2ms'] }];
    const merged = mergeCells(
      plan(vary, [1], ({ values }) =>
        values['policy.kind'] === 'clockwork' ? JSON.stringify(values) : values['policy.kind']!,
      ),
      vary,
    );
    expect(merged).toHaveLength(4 + 2);
    expect(merged.filter(({ cell }) => Object.keys(cell.values).length === 1)).toHaveLength(2);
  });

  it('keeps every cell where only some values of the key are the same run', () => {
    const vary = [{ key: 'slo', values: ['10ms', '0.01s', '20ms'] }];
    const merged = mergeCells(
      plan(vary, [1], ({ values }) => (values.slo === '20ms' ? 'other' : 'same')),
      vary,
    );
    expect(merged).toHaveLength(3);
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
