import type { ModelSpec } from '../../core/model.js';
import type { RunObserver } from '../../core/observer.js';
import type { RequestTable } from '../../core/request.js';

/** Lengths of the inputs of a model's requests, and those to which they are best padded. */
export interface LengthAdvice {
  readonly requests: number;
  readonly shortest: number;
  readonly longest: number;
  readonly buckets: readonly number[];
  /** Padding as a share of the inputs' total length. */
  readonly padding: number;
}

/** Number of requests after which there is advice; it is renewed each time that they have doubled. */
const LEAST_REQUESTS = 1000;
/** Padding that needs no more buckets, difference of padding that needs no others, and limit on buckets. */
const LITTLE_PADDING = 0.2;
const MUCH_LESS = 0.1;
const MOST_BUCKETS = 8;
/** Significant bits of lengths, which are rounded up, so that there are only about a thousand. */
const BITS = 6;

/** Counts the lengths of each model's inputs, and suggests buckets. */
export class SeenLengths implements RunObserver {
  /** By model, if it takes several lengths. */
  private readonly seen: (Seen | undefined)[] = [];

  /** `models` is kept up to date; `suggested`: called with the first advice for a model. */
  constructor(
    private readonly models: readonly ModelSpec[],
    private readonly suggested: (model: number, advice: LengthAdvice) => void,
  ) {}

  answered({ model, length }: RequestTable, slot: number): void {
    const index = model[slot];
    if (length[slot] === 0 || this.models[index]?.lengths === undefined) return;
    this.seen[index] ??= { counts: new Map(), requests: 0, nextLook: LEAST_REQUESTS, advice: null };
    const seen = this.seen[index];
    const rounded = roundedUp(length[slot]);
    seen.counts.set(rounded, (seen.counts.get(rounded) ?? 0) + 1);
    if (++seen.requests < seen.nextLook) return;
    seen.nextLook *= 2;
    const isFirst = seen.advice === null;
    seen.advice = adviceOn(seen, this.models[index]);
    if (isFirst && seen.advice !== null) this.suggested(index, seen.advice);
  }

  completed(): void {}

  /** Null: too few requests, or its own buckets are about as good. */
  advice(model: number): LengthAdvice | null {
    return this.seen[model]?.advice ?? null;
  }

  /** Forgets the index, which may be reused. */
  modelGone(model: number): void {
    delete this.seen[model];
  }
}

interface Seen {
  /** By length. */
  readonly counts: Map<number, number>;
  requests: number;
  nextLook: number;
  advice: LengthAdvice | null;
}

function roundedUp(length: number): number {
  const step = 2 ** Math.max(0, Math.floor(Math.log2(length)) + 1 - BITS);
  return Math.ceil(length / step) * step;
}

/** Null: the model's own buckets are about as good, or its inputs have one length. */
function adviceOn(
  { counts, requests }: Seen,
  { lengths: own = [], equalLengths }: ModelSpec,
): LengthAdvice | null {
  const lengths = [...counts.keys()];
  const best = bestBuckets(counts, MOST_BUCKETS, LITTLE_PADDING);
  const isAsGood =
    equalLengths === true ? lengths.length === 1 : paddingTo(own, counts) <= best.padding + MUCH_LESS;
  if (isAsGood) return null;
  return { requests, shortest: Math.min(...lengths), longest: Math.max(...lengths), ...best };
}

/** Padding to these buckets; longer inputs are not padded. */
function paddingTo(buckets: readonly number[], counts: ReadonlyMap<number, number>): number {
  let total = 0;
  let padded = 0;
  for (const [length, count] of counts) {
    total += count * length;
    padded += count * (buckets.find((bucket) => bucket >= length) ?? length);
  }
  return padded / total - 1;
}

/**
 * Buckets for inputs, given the number of those of each length: those with the least padding, as many as make that at
 * most `enough`, a share of the total length, but not more than `most`.
 */
export function bestBuckets(
  counts: ReadonlyMap<number, number>,
  most: number,
  enough: number,
): Pick<LengthAdvice, 'buckets' | 'padding'> {
  const lengths = [...counts].sort(([a], [b]) => a - b);
  const all = lengths.length;
  const total = lengths.reduce((sum, [length, count]) => sum + length * count, 0);
  // By number of the shortest lengths: their best buckets, and the total length of their inputs when padded to these.
  let best: readonly Padded[] = [{ padded: 0, buckets: [] }, ...lengths.map(() => NONE)];
  do {
    best = best.map((_, end) => {
      if (end === 0) return NONE;
      const [bucket] = lengths[end - 1];
      let [padded, begin, inputs] = [Number.POSITIVE_INFINITY, 0, 0];
      for (let from = end - 1; from >= 0; from--) {
        inputs += lengths[from][1];
        const sum = best[from].padded + inputs * bucket;
        if (sum <= padded) [padded, begin] = [sum, from];
      }
      return { padded, buckets: [...best[begin].buckets, bucket] };
    });
  } while (best[all].buckets.length < Math.min(most, all) && best[all].padded > (1 + enough) * total);
  const { padded, buckets } = best[all];
  return { buckets, padding: padded / total - 1 };
}

interface Padded {
  readonly padded: number;
  readonly buckets: readonly number[];
}

const NONE: Padded = { padded: Number.POSITIVE_INFINITY, buckets: [] };
