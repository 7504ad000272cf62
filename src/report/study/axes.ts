import type { SweepResults } from '../../record/results.js';
import type { CellText } from '../document.js';
import { keyLabel, parseQuantity, valueLabel } from '../quantity.js';

/** One varied key, ready for a chart. */
export interface Axis {
  readonly key: string;
  readonly label: string;
  /** `schedule_ahead (ms)`. */
  readonly title: string;
  /** Empty for plain numbers and for names. */
  readonly unit: string;
  /** A numeric axis may have words among its values, such as `auto`. */
  readonly kind: 'number' | 'category';
  /** True if the operator chooses it (policy, cluster, scaler), false if it is given (SLO, workload, models). */
  readonly isChoice: boolean;
  /** Numbers ascend, words after them; names are in the order of the sweep. */
  readonly values: readonly AxisValue[];
  /** Value without overrides, even if the sweep did not run it. */
  readonly default: AxisValue | null;
}

interface AxisValue {
  /** As written. */
  readonly text: string;
  readonly label: string;
  /** Position on a numeric axis, rank on one of names. For a word on a numeric axis: a place after all numbers. */
  readonly at: number;
  /** True for a word on a numeric axis. */
  readonly isWord: boolean;
}

/** Keys of a sweep with more than one value, in its order. A key with one is useless in a table or a label. */
export function sweepAxes(results: Pick<SweepResults, 'vary' | 'defaults'>): Axis[] {
  return results.vary
    .filter(({ values }) => values.length > 1)
    .map(({ key, values }) => axis(key, values, results.defaults[key]));
}

/** Keys with a single value, with that value. */
export function fixedValues({ vary }: Pick<SweepResults, 'vary'>): Record<string, string> {
  return Object.fromEntries(
    vary.flatMap(({ key, values }) => (values.length === 1 ? [[key, values[0] as string]] : [])),
  );
}

function axis(key: string, texts: readonly string[], defaultText: string | undefined): Axis {
  const numbers = texts.flatMap((text) => parseQuantity(text) ?? []);
  const unit = numbers[0]?.unit ?? '';
  // A line needs two points.
  const numeric = numbers.length > 1 && numbers.every((number) => number.unit === unit);
  const last = Math.max(...numbers.map(({ value }) => value));
  const place = (text: string, rank: number): AxisValue => {
    const number = numeric ? parseQuantity(text) : null;
    const isWord = numeric && number === null;
    return { text, label: valueLabel(text), at: number?.value ?? (isWord ? last + 1 + rank : rank), isWord };
  };
  const values = texts.map(place).sort((a, b) => a.at - b.at);
  const label = keyLabel(key);
  return {
    key,
    label,
    title: numeric && unit !== '' ? `${label} (${unit})` : label,
    unit: numeric ? unit : '',
    kind: numeric ? 'number' : 'category',
    isChoice: /^(policy|cluster|scaler)(\.|$)/.test(key),
    values,
    default: defaultText === undefined ? null : findValue(values, place(defaultText, -1), numeric),
  };
}

/** The value of an axis in a table; numbers sort by size. */
export function placeCell({ key, kind, values }: Axis, at: Readonly<Record<string, string>>): CellText {
  const place = values.find(({ text }) => text === at[key]);
  return { text: valueLabel(at[key] ?? '–'), ...(kind === 'number' ? { sort: place?.at ?? 0 } : {}) };
}

/** The default by the name that the sweep uses for it: `10ms` and `0.01s` are the same value. */
function findValue(values: readonly AxisValue[], wanted: AxisValue, numeric: boolean): AxisValue | null {
  const same = values.find(
    (value) => value.text === wanted.text || (numeric && !wanted.isWord && value.at === wanted.at),
  );
  return same ?? (wanted.isWord ? null : wanted);
}
