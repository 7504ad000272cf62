import type { FleetSpace } from './fleet-space.js';
import type { Verdict } from './judge.js';

/** What a search for fleets asks of the outside. Asking again gives the same. */
export interface FleetPort {
  /** Whether the fleet surely misses a target, as far as that is known without running it. */
  ruledOut(index: number): Promise<boolean>;
  /** Runs the fleet: whether it meets every target. */
  judge(index: number): Promise<Verdict>;
  /** Fleets that may be run next, the most likely first: a hint. */
  ahead(indices: readonly number[]): void;
}

export interface FleetFound {
  /** The cheapest fleet that meets every target; null: none that was run does. */
  readonly answer: number | null;
  /** Those that were ruled out without a run. */
  readonly ruledOut: readonly number[];
  /** Fleets that miss although they have no fewer GPUs of any kind than one that meets. */
  readonly contradictions: readonly number[];
}

/** Fleets among which the next one to run is chosen. */
const MOST_COMPARED = 256;
/** Steps of a kind from the answer to neighbours that are run: one that should miss may have missed by bad luck. */
const NEARBY = [-2, -1, 1];

/**
 * Finds the cheapest fleet that meets its targets. Of equal cost the one with fewer GPUs counts as cheaper.
 *
 * A fleet that misses settles all that have no more GPUs of any kind; one that meets settles all that are not cheaper. Each
 * run is of the fleet that settles most of what is open, whichever way it ends: for one kind that is bisection, for several it
 * walks along the border between fleets that meet and that miss. What is open at the end is nothing: no cheaper fleet meets,
 * if more GPUs never hurt. They sometimes do, a little. So the neighbours of the answer that are cheaper, by a GPU or two less or by one
 * kind exchanged for another, are run, and those with a GPU more; where a cheaper one meets it becomes the answer.
 */
export async function searchFleets(space: FleetSpace, port: FleetPort): Promise<FleetFound> {
  return new FleetSearch(space, port).run();
}

class FleetSearch {
  /** All fleets from the cheapest to the dearest, and the place of each in that order. */
  private readonly order: readonly number[];
  private readonly rank = new Map<number, number>();
  private readonly verdicts = new Map<number, Verdict>();
  /** Whether it is known without a run that it misses. */
  private readonly ruledOut = new Map<number, boolean>();
  private answer: number | null = null;

  constructor(
    private readonly space: FleetSpace,
    private readonly port: FleetPort,
  ) {
    const all = Array.from({ length: space.size }, (_, index) => index).filter((i) => space.isCluster(i));
    const cost = new Map(all.map((index) => [index, space.costPerHour(index)]));
    // Sums of prices that are equal may differ in the last digit.
    const compare = (a: number, b: number) => {
      const difference = cost.get(a)! - cost.get(b)!;
      if (Math.abs(difference) > 1e-9 * cost.get(a)!) return difference;
      return space.gpus(a) - space.gpus(b) || a - b;
    };
    this.order = all.sort(compare);
    for (const [place, index] of this.order.entries()) this.rank.set(index, place);
  }

  async run(): Promise<FleetFound> {
    const { space } = this;
    let open = await this.settle(space.size - 1, this.order);
    while (open.length > 0) {
      const [chosen] = next(open, space) as [number];
      open = await this.settle(chosen, open);
    }
    await this.verify();
    const ruledOut = [...this.ruledOut].flatMap(([index, is]) => (is ? index : []));
    return { answer: this.answer, ruledOut, contradictions: this.contradictions() };
  }

  /** What is still open once it is known whether the fleet meets. */
  private async settle(index: number, open: readonly number[]): Promise<readonly number[]> {
    if (!(await this.isRuledOut(index))) {
      const ifMissed = next(this.withoutWithin(open, index), this.space);
      const ifMet = next(open.slice(0, open.indexOf(index)), this.space);
      this.port.ahead([index, ...ifMissed, ...ifMet]);
    }
    if (!(await this.meets(index))) {
      // The largest fleet settles all. Where only its seeds differ too much, a smaller one may still meet.
      const isDoubtful = index === this.space.size - 1 && this.verdicts.get(index) === 'unsure';
      return isDoubtful ? open.filter((other) => other !== index) : this.withoutWithin(open, index);
    }
    this.answer = index;
    return open.filter((other) => this.rankOf(other) < this.rankOf(index));
  }

  private withoutWithin(open: readonly number[], missed: number): readonly number[] {
    return open.filter((index) => !this.space.isWithin(index, missed));
  }

  /** Runs the neighbours of the answer, as long as that makes another one the answer. */
  private async verify(): Promise<void> {
    for (;;) {
      const from = this.answer ?? this.space.size - 1;
      const asked = await this.all(this.neighbours(from));
      const cheaper = asked.filter(
        (index) =>
          this.verdicts.get(index) === 'yes' &&
          (this.answer === null || this.rankOf(index) < this.rankOf(from)),
      );
      if (cheaper.length === 0) return;
      this.answer = cheaper.reduce((best, index) => (this.rankOf(index) < this.rankOf(best) ? index : best));
    }
  }

  /** With a GPU or two less or one more of a kind, or with one kind exchanged for another where that is cheaper. */
  private neighbours(index: number): number[] {
    const { space } = this;
    const kinds = space.kinds.map((_, kind) => kind);
    const single = kinds.flatMap((kind) => NEARBY.map((steps) => space.moved(index, kind, steps)));
    const exchanged = kinds.flatMap((less) => {
      const down = space.moved(index, less, -1);
      return kinds.map((more) => (down === null || more === less ? null : space.moved(down, more, 1)));
    });
    const swaps = exchanged.filter((other) => other !== null && this.rankOf(other) < this.rankOf(index));
    return [...single, ...swaps].filter((other) => other !== null && space.isCluster(other)) as number[];
  }

  private contradictions(): number[] {
    const asked = [...this.verdicts];
    const met = asked.flatMap(([index, verdict]) => (verdict === 'yes' ? index : []));
    const missed = asked.flatMap(([index, verdict]) => (verdict === 'yes' ? [] : index));
    const contradict = missed.filter((index) => met.some((other) => this.space.isWithin(other, index)));
    return contradict.sort((a, b) => this.rankOf(a) - this.rankOf(b));
  }

  private async all(indices: readonly number[]): Promise<readonly number[]> {
    await Promise.all(indices.map((index) => this.meets(index)));
    return indices;
  }

  private async meets(index: number): Promise<boolean> {
    const known = this.verdicts.get(index);
    if (known !== undefined) return known === 'yes';
    if (await this.isRuledOut(index)) return false;
    const verdict = await this.port.judge(index);
    this.verdicts.set(index, verdict);
    return verdict === 'yes';
  }

  private async isRuledOut(index: number): Promise<boolean> {
    if (this.ruledOut.has(index)) return this.ruledOut.get(index)!;
    const is = !this.verdicts.has(index) && (await this.port.ruledOut(index));
    this.ruledOut.set(index, is);
    return is;
  }

  private rankOf(index: number): number {
    return this.rank.get(index)!;
  }
}

/** The fleet, if there is one, that settles most of those that are open, in order of their cost, in the worse case of the two. */
function next(open: readonly number[], space: FleetSpace): number[] {
  if (open.length === 0) return [];
  const stride = Math.max(1, Math.ceil(open.length / MOST_COMPARED));
  let chosen = open.length - 1;
  let most = -1;
  for (let place = open.length - 1; place >= 0; place -= stride) {
    const ifMet = open.length - place;
    if (ifMet <= most) continue;
    const index = open[place]!;
    const ifMissed = open.reduce((sum, other) => sum + (space.isWithin(other, index) ? 1 : 0), 0);
    const settled = Math.min(ifMet, ifMissed);
    if (settled > most) [chosen, most] = [place, settled];
  }
  return [open[chosen]!];
}
