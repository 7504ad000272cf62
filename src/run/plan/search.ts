import type { Preference } from './preference.js';

/** What a search asks of the outside. Values are named by their index in ascending order. */
export interface SearchPort {
  /** Whether a value meets the target. Asking again gives the same. */
  meets(index: number): Promise<boolean>;
  /**
   * Values that may be asked for soon, the most likely first. A hint: what the search asks for does not depend on
   * what is known already.
   */
  ahead(indices: readonly number[]): void;
}

/** `contradictions`: verdicts that do not go with one boundary, ascending. */
export type SearchResult =
  /** The target holds from `answer` on, away from its neighbour `before`; `inside`: and at neither end. */
  | {
      readonly kind: 'boundary';
      readonly answer: number;
      readonly before: number;
      readonly inside: boolean;
      readonly contradictions: readonly number[];
    }
  | { readonly kind: 'whole'; readonly answer: number; readonly contradictions: readonly number[] }
  /** Some values meet the target, and what is better among them is for the operator to say. */
  | { readonly kind: 'undecided'; readonly example: number }
  | { readonly kind: 'none' };

/** Values on each side of an answer that must agree with it. */
const NEIGHBOURS = 2;
/** Values between ends that both miss, where the target may still hold. */
const SCANNED = 7;
/** Values of the next rounds that are worth looking at ahead: four rounds. */
const MOST_AHEAD = 15;

/**
 * Finds where among `size` values (at least 2) the target begins to hold. Both ends tell on which side that is;
 * bisection finds a boundary, and its neighbours must confirm it: where one misses on the side that should meet, the
 * answer moves beyond it.
 */
export async function search(
  size: number,
  prefer: Preference | null,
  port: SearchPort,
): Promise<SearchResult> {
  return new Search(size - 1, prefer, port).run();
}

class Search {
  private readonly asked = new Map<number, boolean>();

  constructor(
    private readonly last: number,
    private readonly prefer: Preference | null,
    private readonly port: SearchPort,
  ) {}

  async run(): Promise<SearchResult> {
    const { last, prefer } = this;
    this.port.ahead([0, last, ...midpoints(0, last)]);
    const [low, high] = await this.all([0, last]);
    if (low !== high) return this.boundary(low ? last : 0, low ? 0 : last, false);
    if (!low) return this.scan();
    return prefer === null ? { kind: 'undecided', example: 0 } : this.whole(prefer === 'low' ? 0 : last);
  }

  private async whole(answer: number): Promise<SearchResult> {
    await this.all(this.neighbours(answer, answer === 0 ? 1 : -1, this.last - answer));
    return { kind: 'whole', answer, contradictions: this.contradictions(() => true) };
  }

  /** Both ends miss: looks between them, as of a key that may be too small and too large. */
  private async scan(): Promise<SearchResult> {
    const { last, prefer } = this;
    const places = Array.from({ length: SCANNED }, (_, i) => Math.round(((i + 1) * last) / (SCANNED + 1)));
    const scanned = [...new Set(places)].filter((index) => index > 0 && index < last);
    await this.all(scanned);
    const meeting = scanned.filter((index) => this.asked.get(index));
    if (meeting.length === 0) return { kind: 'none' };
    if (prefer === null) return { kind: 'undecided', example: meeting[0]! };
    const points = [0, ...scanned, last];
    const meet = prefer === 'low' ? meeting[0]! : meeting.at(-1)!;
    return this.boundary(points[points.indexOf(meet) + (prefer === 'low' ? -1 : 1)]!, meet, true);
  }

  private async boundary(miss: number, meet: number, inside: boolean): Promise<SearchResult> {
    const step = Math.sign(meet - miss);
    let answer = await this.bisect(miss, meet);
    for (;;) {
      const beyond = this.neighbours(answer, step, meet);
      const behind = this.neighbours(answer - step, -step, miss);
      await this.all([...beyond, ...behind]);
      const wrong = beyond.findLast((index) => !this.asked.get(index));
      if (wrong === undefined) break;
      answer = await this.gallop(wrong, meet);
    }
    // Between the two that were known at first: elsewhere, verdicts may change once more.
    const between = (index: number) => (index - miss) * step >= 0 && (meet - index) * step >= 0;
    const contradictions = this.contradictions((index) => (index - answer) * step >= 0).filter(between);
    return { kind: 'boundary', answer, before: answer - step, inside, contradictions };
  }

  /** The value next to one that misses, between it and one that meets. */
  private async bisect(miss: number, meet: number): Promise<number> {
    let [wrong, right] = [miss, meet];
    while (Math.abs(right - wrong) > 1) {
      const step = Math.sign(right - wrong);
      const around = [wrong - step, right + step].filter((index) => index >= 0 && index <= this.last);
      this.port.ahead([...midpoints(wrong, right), ...around]);
      const middle = middleOf(wrong, right);
      if (await this.meets(middle)) right = middle;
      else wrong = middle;
    }
    return right;
  }

  /** From a value that misses in growing steps towards `meet`, until one meets; then back to the boundary. */
  private async gallop(miss: number, meet: number): Promise<number> {
    const step = Math.sign(meet - miss);
    let wrong = miss;
    for (let stride = 1; ; stride *= 2) {
      const next = wrong + step * Math.min(stride, Math.abs(meet - wrong));
      if (await this.meets(next)) return this.bisect(wrong, next);
      wrong = next;
    }
  }

  /** The next few values from `index` on, `end` included. */
  private neighbours(index: number, step: number, end: number): number[] {
    const count = Math.min(NEIGHBOURS, Math.abs(end - index));
    return Array.from({ length: count }, (_, i) => index + step * (i + 1));
  }

  private contradictions(expected: (index: number) => boolean): number[] {
    return [...this.asked]
      .filter(([index, verdict]) => verdict !== expected(index))
      .map(([index]) => index)
      .sort((left, right) => left - right);
  }

  private all(indices: readonly number[]): Promise<boolean[]> {
    return Promise.all(indices.map((index) => this.meets(index)));
  }

  private async meets(index: number): Promise<boolean> {
    const verdict = await this.port.meets(index);
    this.asked.set(index, verdict);
    return verdict;
  }
}

/** The values that bisection may ask for between two, in the order of its rounds. */
function midpoints(from: number, to: number): number[] {
  const found: number[] = [];
  const intervals: [number, number][] = [[from, to]];
  for (let i = 0; i < intervals.length && found.length < MOST_AHEAD; i++) {
    const [left, right] = intervals[i]!;
    if (Math.abs(right - left) < 2) continue;
    const middle = middleOf(left, right);
    found.push(middle);
    intervals.push([left, middle], [middle, right]);
  }
  return found;
}

/** The same whichever of the two misses. */
function middleOf(left: number, right: number): number {
  return Math.floor((left + right) / 2);
}
