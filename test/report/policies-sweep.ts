import type { SweepResults } from '../../src/record/results.js';
import { cellFixture, gridFixture } from './fixtures.js';

const template = cellFixture({ sloMs: 10, goodputRps: 1 });

/** A sweep of policies × schedule_ahead at some SLOs in which `edf` has no schedule_ahead, with these goodputs. */
export function policiesAt(
  slos: readonly string[],
  seeds: readonly number[],
  goodput: (id: string) => number,
): SweepResults {
  const results = gridFixture({
    vary: [
      { key: 'slo', values: slos },
      { key: 'policy.kind', values: ['clockwork', 'edf', 'escapement'] },
      { key: 'policy.scheduleAhead', values: ['auto', '5ms', '10ms'] },
    ],
    seeds,
    defaults: { 'policy.kind': 'clockwork', 'policy.scheduleAhead': '10ms', slo: '100ms' },
    run: () => template,
  });
  const cells = results.cells.flatMap((cell) => {
    if (cell.status !== 'done') return [];
    const { 'policy.scheduleAhead': ahead, ...others } = cell.values;
    const isEdf = others['policy.kind'] === 'edf';
    if (isEdf && ahead !== 'auto') return [];
    const values = isEdf ? others : cell.values;
    const id = [...Object.values(values), cell.seed].join(' ');
    const summary = { ...template.summary, policy: values['policy.kind']!, goodputRps: goodput(id) };
    return [{ ...cell, id, values, result: { ...template, summary } }];
  });
  return { ...results, cells };
}
