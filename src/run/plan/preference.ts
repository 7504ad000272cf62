import { kindOfGpus } from '../../report/fleet-label.js';

/** The better end of a range, if both meet the target. */
export type Preference = 'low' | 'high';

/** Superlative of an answer: `fewest GPUs`, `highest workload.rate`. */
export interface Goal {
  readonly prefer: Preference;
  readonly superlative: string;
}

/** True if a value is the lowest that a key can have: a range that ends there does not bind. */
export function isLeast(key: string, value: string): boolean {
  return value === '1' && /^cluster\.(?:gpus|pages)$|\.(?:clients|concurrency)$/.test(key);
}

/** Keys whose meaning says which value is cheaper or more demanding. */
const KNOWN: readonly (readonly [RegExp, Goal])[] = [
  [/^cluster\.(?:gpus|pages)$/, { prefer: 'low', superlative: 'fewest' }],
  [/^cluster\.memory$/, { prefer: 'low', superlative: 'least' }],
  [/^(?:workload\.(?:\d+\.)?)?slo$/, { prefer: 'low', superlative: 'tightest' }],
  [/^policy\.scheduleAhead$/, { prefer: 'low', superlative: 'shortest' }],
  [
    /^workload\.(?:\d+\.)?(?:rate|load|scale|speed|clients|concurrency)$/,
    { prefer: 'high', superlative: 'highest' },
  ],
];

/** Goal for a key: the operator's preference, else the meaning of the key; null if neither decides. */
export function goalOf(key: string, prefer: Preference | null): Goal | null {
  const whole = kindOfGpus(key) === null ? key : 'cluster.gpus';
  const known = KNOWN.find(([pattern]) => pattern.test(whole))?.[1] ?? null;
  if (prefer === null || prefer === known?.prefer) return known;
  return { prefer, superlative: prefer === 'low' ? 'lowest' : 'highest' };
}
