import type { SweepResults } from '../metrics/results.js';
import { keyLabel, parseQuantity, valueLabel } from './quantity.js';

/** One varied key, ready for a chart. */
export interface Axis {
  readonly key: string;
  readonly label: string;
  /** `schedule_ahead (ms)`. */
  readonly title: string;
  /** Empty for plain numbers and for names. */
  readonly unit: string;
  readonly kind: 'number' | 'category';
  /** Whether the operator chooses it (policy, cluster) or it is given (SLO, workload, models). */
  readonly isChoice: boolean;
  /** Numbers ascend; names are in the order of the sweep. */
  readonly values: readonly AxisValue[];
  /** The value that applies when nothing overrides it, whether or not the sweep ran it. */
  readonly default: AxisValue | null;
}

export interface AxisValue {
  /** As written. */
  readonly text: string;
  readonly label: string;
  /** Position on a numeric axis, rank on one of names. */
  readonly at: number;
}

/** The varied keys of a sweep in its order. */
export function sweepAxes(results: Pick<SweepResults, 'vary' | 'defaults'>): Axis[] {
  return results.vary.map(({ key, values }) => axis(key, values, results.defaults[key]));
}

function axis(key: string, texts: readonly string[], defaultText: string | undefined): Axis {
  const quantities = texts.map(parseQuantity);
  const unit = quantities[0]?.unit ?? '';
  const numeric = quantities.every((quantity) => quantity !== null && quantity.unit === unit);
  const place = (text: string, rank: number): AxisValue => ({
    text,
    label: valueLabel(text),
    at: numeric ? (parseQuantity(text)?.value ?? Number.NaN) : rank,
  });
  const values = texts.map(place).sort((a, b) => a.at - b.at);
  const label = keyLabel(key);
  return {
    key,
    label,
    title: numeric && unit !== '' ? `${label} (${unit})` : label,
    unit: numeric ? unit : '',
    kind: numeric ? 'number' : 'category',
    isChoice: /^(policy|cluster)(\.|$)/.test(key),
    values,
    default: defaultText === undefined ? null : findValue(values, place(defaultText, -1)),
  };
}

/** The default under the name that the sweep uses for it: `10ms` and `0.01s` are the same value. */
function findValue(values: readonly AxisValue[], wanted: AxisValue): AxisValue | null {
  const same = values.find((value) => value.text === wanted.text || value.at === wanted.at);
  return same ?? (Number.isFinite(wanted.at) ? wanted : null);
}
