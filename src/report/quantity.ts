import { significant } from '../text/numbers.js';
import { kindOfGpus, takeFleet } from './fleet-label.js';

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
