import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { OperatorRun } from '../../src/live/operator-runs.js';
import { runsOf, tableOf } from '../../src/live/operator-table.js';

const text = fc.constantFrom('', 'Conv', 'Gemm', 'Conv_0', 'CPUExecutionProvider');
const run: fc.Arbitrary<OperatorRun> = fc.record(
  {
    action: fc.maxSafeNat(),
    name: text,
    operator: text,
    provider: text,
    beginNs: fc.maxSafeInteger(),
    endNs: fc.maxSafeInteger(),
  },
  { noNullPrototype: true },
);

it('keeps operators as columns and gives them back, each node once', () => {
  fc.assert(
    fc.property(fc.array(run), (runs) => {
      const table = tableOf(runs);
      expect(runsOf(table)).toStrictEqual(runs);
      expect(new Set(table.nodes.map((node) => JSON.stringify(node))).size).toBe(table.nodes.length);
    }),
  );
});
