import { meanOfKnown } from '../statistics.js';
import type { Axis } from '../study/axes.js';
import type { MatrixCell } from './matrix.js';

/** Key of the axis whose values are conditions under which conclusions should hold: ideal, noise, … */
const CONDITION = 'condition';

/** The policies under one condition, compared with the first condition. */
export interface ConditionRanking {
  readonly label: string;
  readonly cells: number;
  /** Mean share of the bound by series; null if it has no result. */
  readonly means: readonly (number | null)[];
  /** Place of each series by mean, 1 is the highest. */
  readonly places: readonly (number | null)[];
  /** Kendall's τ-b of the means against those under the first condition; null if one of them has no order. */
  readonly tau: number | null;
}

/** One entry per condition; empty if conditions were not varied. `cells` have results of every series. */
export function rankConditions(axes: readonly Axis[], cells: readonly MatrixCell[]): ConditionRanking[] {
  const axis = axes.find(({ key }) => key === CONDITION);
  if (axis === undefined) return [];
  const all = axis.values.map(({ text, label }) => {
    const own = cells.filter(({ values }) => values[CONDITION] === text);
    return { label, cells: own.length, means: meansOf(own) };
  });
  return all.map((condition) => ({
    ...condition,
    places: condition.means.map((mean) =>
      mean === null ? null : 1 + condition.means.filter((other) => other !== null && other > mean).length,
    ),
    tau: kendallTau(all[0]!.means, condition.means),
  }));
}

/** Kendall's τ-b: 1 same order, -1 reversed, ties discounted. Pairs with null are left out; null without any order. */
export function kendallTau(a: readonly (number | null)[], b: readonly (number | null)[]): number | null {
  let concordant = 0;
  let orderedA = 0;
  let orderedB = 0;
  for (let i = 0; i < a.length; i++) {
    for (let j = 0; j < i; j++) {
      const [ai, aj, bi, bj] = [a[i], a[j], b[i], b[j]];
      if (ai == null || aj == null || bi == null || bj == null) continue;
      const [signA, signB] = [Math.sign(ai - aj), Math.sign(bi - bj)];
      concordant += signA * signB;
      orderedA += Math.abs(signA);
      orderedB += Math.abs(signB);
    }
  }
  const pairs = Math.sqrt(orderedA * orderedB);
  return pairs === 0 ? null : concordant / pairs;
}

function meansOf(cells: readonly MatrixCell[]): (number | null)[] {
  return (cells[0]?.results ?? []).map((_, series) =>
    meanOfKnown(cells.map(({ results }) => results[series]?.share.mean ?? null)),
  );
}
