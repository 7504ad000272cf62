/** The better end of a range, if both meet the target. */
export type Preference = 'low' | 'high';

/** `contradictions`: verdicts that do not fit one boundary, ascending. */
export type SearchResult =
  /** The target holds from `answer` on, away from its neighbour `before`; `inside`: it holds at neither end. */
  | {
      readonly kind: 'boundary';
      readonly answer: number;
      readonly before: number;
      readonly inside: boolean;
      readonly contradictions: readonly number[];
    }
  | { readonly kind: 'whole'; readonly answer: number; readonly contradictions: readonly number[] }
  /** Some values meet the target, but the operator must say which are better. */
  | { readonly kind: 'undecided'; readonly example: number }
  | { readonly kind: 'none' };

/** Number of values on each side of an answer that must agree with it. */
const NEIGHBOURS = 2;
/** Values between both ends that are tried first, since more can be worse. */
const SCANNED = 7;
/** Values tried in parallel between one that misses and one that meets. */
const NARROWED = 3;

/**
 * Finds where among `size` values (at least 2) the target begins to hold. `meets` returns whether it holds at a value,
 * by its index in ascending order; repeated calls return the same. Values across the range show where to look: for the
 * best one, and for a boundary between it and better ones. Its neighbours must confirm it: if one misses on the side
 * that should meet, the answer moves beyond it.
 */
export async function search(
  size: number,
  prefer: Preference | null,
  meets: (index: number) => Promise<boolean>,
): Promise<SearchResult> {
  return new Search(size - 1, prefer, meets).run();
}

class Search {
  private readonly asked = new Map<number, boolean>();

  constructor(
    private readonly last: number,
    private readonly prefer: Preference | null,
    private readonly judge: (index: number) => Promise<boolean>,
  ) {}

  async run(): Promise<SearchResult> {
    const { last, prefer, asked } = this;
    const points = [0, ...between(0, last, SCANNED), last];
    await this.all(points);
    const [low, high] = [asked.get(0)!, asked.get(last)!];
    const meeting = points.filter((index) => asked.get(index));
    if (meeting.length === 0) return { kind: 'none' };
    if (low === high && prefer === null) return { kind: 'undecided', example: meeting[0]! };
    if (low && high) return this.whole(prefer === 'low' ? 0 : last);
    // If only one end meets, the boundary lies away from it, whichever end is better.
    const side: Preference = low === high ? prefer! : low ? 'high' : 'low';
    const meet = side === 'low' ? meeting[0]! : meeting.at(-1)!;
    const miss = points[points.indexOf(meet) + (side === 'low' ? -1 : 1)]!;
    if (low === high) return this.boundary({ miss, meet, from: miss, to: meet, inside: true });
    return this.boundary({ miss, meet, from: low ? last : 0, to: low ? 0 : last, inside: false });
  }

  private async whole(answer: number): Promise<SearchResult> {
    await this.all(this.neighbours(answer, answer === 0 ? 1 : -1, this.last - answer));
    return { kind: 'whole', answer, contradictions: this.contradictions(() => true) };
  }

  /** Boundary between `miss` and `meet`; the target is assumed to miss as far as `from` and to hold as far as `to`. */
  private async boundary({ miss, meet, from, to, inside }: Section): Promise<SearchResult> {
    const step = Math.sign(meet - miss);
    let answer = await this.narrow(miss, meet);
    for (;;) {
      const beyond = this.neighbours(answer, step, to);
      const behind = this.neighbours(answer - step, -step, from);
      await this.all([...beyond, ...behind]);
      const wrong = beyond.findLast((index) => !this.asked.get(index));
      if (wrong === undefined) break;
      answer = await this.gallop(wrong, to);
    }
    // Elsewhere, verdicts may change once more.
    const isTold = (index: number) => (index - from) * step >= 0 && (to - index) * step >= 0;
    const contradictions = this.contradictions((index) => (index - answer) * step >= 0).filter(isTold);
    return { kind: 'boundary', answer, before: answer - step, inside, contradictions };
  }

  /** The first value that meets, next to one that misses, by narrowing the interval. */
  private async narrow(miss: number, meet: number): Promise<number> {
    let points = [miss, meet];
    while (Math.abs(points[1]! - points[0]!) > 1) {
      points = [points[0]!, ...between(points[0]!, points[1]!, NARROWED), points[1]!];
      await this.all(points.slice(1, -1));
      const first = points.findIndex((index) => this.asked.get(index));
      points = points.slice(first - 1, first + 1);
    }
    return points[1]!;
  }

  /** Moves from a value that misses in growing steps towards `meet`, until one meets; then back to the boundary. */
  private async gallop(miss: number, meet: number): Promise<number> {
    const step = Math.sign(meet - miss);
    let wrong = miss;
    for (let stride = 1; ; stride *= 2) {
      const next = wrong + step * Math.min(stride, Math.abs(meet - wrong));
      if (await this.meets(next)) return this.narrow(wrong, next);
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

  private async all(indices: readonly number[]): Promise<void> {
    const settled = await Promise.allSettled(indices.map((index) => this.meets(index)));
    // The reported failure must not depend on which ends first.
    for (const one of settled) if (one.status === 'rejected') throw one.reason;
  }

  private async meets(index: number): Promise<boolean> {
    const verdict = await this.judge(index);
    this.asked.set(index, verdict);
    return verdict;
  }
}

interface Section {
  readonly miss: number;
  readonly meet: number;
  readonly from: number;
  readonly to: number;
  readonly inside: boolean;
}

/** Up to `count` values that divide an interval evenly, from the first end to the second. */
function between(from: number, to: number, count: number): number[] {
  const places = Array.from({ length: count }, (_, i) =>
    Math.round(from + ((i + 1) * (to - from)) / (count + 1)),
  );
  return [...new Set(places)].filter((index) => index !== from && index !== to);
}
