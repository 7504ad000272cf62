import type { CostFigures, ScalingFigures } from '../record/results.js';
import { round3, significant } from '../text/numbers.js';

/** `cluster.gpus.t4`, `cluster.gpus.t4.count`: number of GPUs of a kind. */
const KEY = /^cluster\.gpus\.([A-Za-z][\w-]*)(?:\.count)?$/;

/** Kind of GPUs that a key counts; null if none. */
export function kindOfGpus(key: string): string | null {
  return KEY.exec(key)?.[1] ?? null;
}

/** `1 × v100 + 11 × t4`; kinds without a GPU are left out, unless none has one. */
function fleetLabel(counts: readonly (readonly [kind: string, count: string | number])[]): string {
  const some = counts.filter(([, count]) => Number(count) !== 0);
  return (some.length > 0 ? some : counts).map(([kind, count]) => `${count} × ${kind}`).join(' + ');
}

/** The fleet in some `key=value` pairs, null if no key counts GPUs of a kind, and the other pairs. */
export function takeFleet(values: Readonly<Record<string, string>>): {
  readonly fleet: string | null;
  readonly others: Readonly<Record<string, string>>;
} {
  const counts: [string, string][] = [];
  const others: Record<string, string> = {};
  for (const [key, value] of Object.entries(values)) {
    const kind = kindOfGpus(key);
    if (kind === null) others[key] = value;
    else counts.push([kind, value]);
  }
  return { fleet: counts.length === 0 ? null : fleetLabel(counts), others };
}

/** A value of an experiment as a number in the unit of axes. */
interface Quantity {
  readonly value: number;
  /** `ms`, `req/s`, `MiB`, `%`, or empty for a plain number. */
  readonly unit: string;
}

const UNITS: Readonly<Record<string, Quantity>> = {
  '': { value: 1, unit: '' },
  ns: { value: 1e-6, unit: 'ms' },
  us: { value: 1e-3, unit: 'ms' },
  µs: { value: 1e-3, unit: 'ms' },
  ms: { value: 1, unit: 'ms' },
  s: { value: 1e3, unit: 'ms' },
  m: { value: 60e3, unit: 'ms' },
  h: { value: 3600e3, unit: 'ms' },
  '/s': { value: 1, unit: 'req/s' },
  '/m': { value: 1 / 60, unit: 'req/s' },
  '/h': { value: 1 / 3600, unit: 'req/s' },
  KiB: { value: 1 / 1024, unit: 'MiB' },
  MiB: { value: 1, unit: 'MiB' },
  GiB: { value: 1024, unit: 'MiB' },
  '%': { value: 1, unit: '%' },
};

const KEY_LABELS: Readonly<Record<string, string>> = {
  slo: 'SLO',
  'policy.scheduleAhead': 'schedule_ahead',
  'policy.latestDelta': 'latest_delta',
  'policy.maxBatch': 'max_batch',
  'policy.maxExec': 'max_exec',
  'policy.kind': 'policy',
  'workload.load': 'load',
  'cluster.gpus': 'GPUs',
  'cluster.pages': 'cache pages',
};

/** Parses `2.5ms`, `600/s`, `16MiB` or `4`; null for anything that is not a quantity. */
export function parseQuantity(text: string): Quantity | null {
  const parts = /^\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\s\d]*)\s*$/.exec(text);
  const scale = parts === null ? undefined : UNITS[parts[2] as string];
  if (parts === null || scale === undefined) return null;
  // Twelve digits hide the rounding of the scale: 7us is 0.007 ms, not 0.006999….
  return { value: significant(Number(parts[1]) * scale.value, 12), unit: scale.unit };
}

/** A value as people write it: `10ms` as `10 ms`; anything that is not a quantity is unchanged. */
export function valueLabel(text: string): string {
  return parseQuantity(text) === null ? text : text.trim().replace(/(\d)\s*([a-zµA-Z]+|%)$/, '$1 $2');
}

/** Name of an experiment key in titles: the term of the literature if there is one, else the key. */
export function keyLabel(key: string): string {
  const kind = kindOfGpus(key);
  return KEY_LABELS[key] ?? (kind === null ? key : `${kind} GPUs`);
}

/** Some `key=value` pairs as words: `SLO 10 ms, GPUs 4`; numbers of GPUs of kinds as a fleet, `1 × v100 + 11 × t4`. */
export function valuesLabel(values: Readonly<Record<string, string>>, between = ' '): string {
  const { fleet, others } = takeFleet(values);
  const parts = Object.entries(others).map(([key, value]) => keyLabel(key) + between + valueLabel(value));
  return [...(fleet === null ? [] : [fleet]), ...parts].join(', ');
}

/** `12.72 per hour, 3.10 per million requests in time`, in the currency of the experiment. */
export function costText(cost: CostFigures): string {
  const [hour, million] = costTexts(cost);
  return `${hour} per hour, ${million} per million requests in time`;
}

/** `predictive: 12.5 GPU-hours, 3.1 GPUs on average, at most 8; 14 ordered, 12 stopped`. */
export function scalingText({
  scaler,
  gpuHours,
  meanGpus,
  mostGpus,
  ordered,
  stopped,
}: ScalingFigures): string {
  const mean = meanGpus === null ? '' : `, ${round3(meanGpus)} GPUs on average`;
  return `${scaler}: ${round3(gpuHours)} GPU-hours${mean}, at most ${mostGpus}; ${ordered} ordered, ${stopped} stopped`;
}

/** `12.70` and `3.10`, as in columns; `–` if there is no such cost. */
export function costTexts(cost: CostFigures | null): [string, string] {
  if (cost === null) return ['–', '–'];
  return [priceText(cost.perHour), cost.perMillionInTime === null ? '–' : priceText(cost.perMillionInTime)];
}

/** `3.50`, `0.125`, `1234`: at least two decimals, and below 1 three digits. */
export function priceText(value: number): string {
  if (value >= 1000) return value.toFixed(0);
  if (value >= 1) return value.toFixed(2);
  const text = String(round3(value));
  return text.length < '0.12'.length ? value.toFixed(2) : text;
}
