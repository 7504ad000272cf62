import type { Part } from './parts.js';

/** A cell, as the deal sees it. */
interface Hand {
  readonly gpus: number;
  readonly load: Float64Array;
  readonly models: Set<number>;
  pages: number;
}

/**
 * What evenness of memory counts next to evenness of load: enough to place models without load, too little to make a
 * difference between two splits of unlike load.
 */
const MEMORY_WEIGHT = 0.02;
/** Parts of about the same load that a part is exchanged with. */
const SWAPS = 12;
const MOST_ROUNDS = 30;
/** Gains below this share of the whole are noise of floating point. */
const LEAST_GAIN = 1e-9;
/**
 * What a move has to gain in a split that is in use, times the number of cells: as much as moving 2 % of the load of a cell
 * that has 5 % too much.
 */
const MOVE_WORTH = 0.002;

/**
 * Deals parts to cells of so many GPUs; returns the cell of each part. What it keeps small is the sum over cells and
 * intervals of load² / GPUs: it is least if every cell has the same load in every interval, so that it evens out means and
 * also parts models whose bursts coincide. Memory counts the same way, far less. The heaviest parts are dealt first, each
 * to where it adds least; then parts move and change places for as long as that gains. The parts of a model go to
 * different cells. `before`: the cell that each part has now, −1 for none; with it, a part only moves if that gains more than
 * a little.
 */
export function dealParts(
  parts: readonly Part[],
  gpus: readonly number[],
  before: readonly number[] | null = null,
): number[] {
  const dealt = new Deal(parts, gpus, before).run();
  // What is in use may leave a new cell empty, if nothing has a load that would be worth a move.
  return new Set(dealt).size === gpus.length ? dealt : new Deal(parts, gpus, null).run();
}

class Deal {
  private readonly hands: readonly Hand[];
  private readonly cellOf: number[];
  /** Parts from the heaviest to the lightest. */
  private readonly order: readonly number[];
  private readonly squares: Float64Array;
  /** What the sums of load² / GPUs and pages² / GPUs are divided by: their least values. */
  private readonly evenLoad: number;
  private readonly evenPages: number;
  private readonly leastGain: number;

  constructor(
    private readonly parts: readonly Part[],
    gpus: readonly number[],
    private readonly before: readonly number[] | null,
  ) {
    this.leastGain = before === null ? LEAST_GAIN : MOVE_WORTH / gpus.length;
    const intervals = parts[0]!.load.length;
    this.hands = gpus.map((own) => ({
      gpus: own,
      load: new Float64Array(intervals),
      models: new Set(),
      pages: 0,
    }));
    this.cellOf = parts.map(() => -1);
    this.order = [...parts.keys()].sort(
      (a, b) => parts[b]!.mean - parts[a]!.mean || parts[b]!.pages - parts[a]!.pages || a - b,
    );
    this.squares = Float64Array.from(parts, ({ load }) => dot(load, load));
    const allGpus = gpus.reduce((sum, own) => sum + own, 0);
    const whole = new Float64Array(intervals);
    for (const { load } of parts) add(whole, load, 1);
    const allPages = parts.reduce((sum, { pages }) => sum + pages, 0);
    this.evenLoad = dot(whole, whole) / allGpus || 1;
    this.evenPages = allPages ** 2 / allGpus;
  }

  run(): number[] {
    for (const part of this.order) this.place(part);
    for (let round = 0; round < MOST_ROUNDS; round++) {
      let gained = 0;
      for (const part of this.order) gained += this.move(part);
      for (let rank = 0; rank < this.order.length; rank++) gained += this.swap(rank);
      if (gained < LEAST_GAIN) break;
    }
    return this.cellOf;
  }

  private place(part: number): void {
    const known = this.before?.[part] ?? -1;
    if (known >= 0 && !this.hands[known]!.models.has(this.parts[part]!.model)) {
      this.put(part, known);
      return;
    }
    let best = -1;
    let least = Number.POSITIVE_INFINITY;
    for (let cell = 0; cell < this.hands.length; cell++) {
      if (this.hands[cell]!.models.has(this.parts[part]!.model)) continue;
      const cost = this.costOfAdding(part, cell);
      if (cost < least) [best, least] = [cell, cost];
    }
    this.put(part, best);
  }

  /** Moves a part to where that gains most; returns the gain. */
  private move(part: number): number {
    const from = this.cellOf[part]!;
    const { model } = this.parts[part]!;
    if (this.hands[from]!.models.size === 1) return 0;
    const freed = this.gainOfTaking(part, from);
    let best = -1;
    let most = this.leastGain;
    for (let cell = 0; cell < this.hands.length; cell++) {
      if (cell === from || this.hands[cell]!.models.has(model)) continue;
      const gain = freed - this.costOfAdding(part, cell);
      if (gain > most) [best, most] = [cell, gain];
    }
    if (best < 0) return 0;
    this.take(part);
    this.put(part, best);
    return most;
  }

  /** Exchanges the part of a rank with one of the next lighter ones, if that gains; returns the gain. */
  private swap(rank: number): number {
    const part = this.order[rank]!;
    for (const other of this.order.slice(rank + 1, rank + 1 + SWAPS)) {
      const gain = this.gainOfSwap(part, other);
      if (gain <= 2 * this.leastGain) continue;
      const [here, there] = [this.cellOf[part]!, this.cellOf[other]!];
      this.take(part);
      this.take(other);
      this.put(part, there);
      this.put(other, here);
      return gain;
    }
    return 0;
  }

  private gainOfSwap(one: number, other: number): number {
    const [here, there] = [this.cellOf[one]!, this.cellOf[other]!];
    const [a, b] = [this.parts[one]!, this.parts[other]!];
    if (here === there || this.hands[there]!.models.has(a.model) || this.hands[here]!.models.has(b.model))
      return 0;
    const gained =
      this.gainOfTaking(one, here) -
      this.costOfAdding(one, there) +
      this.gainOfTaking(other, there) -
      this.costOfAdding(other, here);
    // Each was weighed as if the other stayed.
    const [g, h] = [1 / this.hands[here]!.gpus, 1 / this.hands[there]!.gpus];
    const overlap =
      (2 * dot(a.load, b.load)) / this.evenLoad + (2 * MEMORY_WEIGHT * a.pages * b.pages) / this.evenPages;
    return gained + overlap * (g + h);
  }

  private costOfAdding(part: number, cell: number): number {
    const { load, pages } = this.parts[part]!;
    const hand = this.hands[cell]!;
    const loadCost = (2 * dot(load, hand.load) + this.squares[part]!) / hand.gpus;
    const pagesCost = (2 * pages * hand.pages + pages ** 2) / hand.gpus;
    return loadCost / this.evenLoad + (MEMORY_WEIGHT * pagesCost) / this.evenPages;
  }

  private gainOfTaking(part: number, cell: number): number {
    const { load, pages } = this.parts[part]!;
    const hand = this.hands[cell]!;
    const loadGain = (2 * dot(load, hand.load) - this.squares[part]!) / hand.gpus;
    const pagesGain = (2 * pages * hand.pages - pages ** 2) / hand.gpus;
    return loadGain / this.evenLoad + (MEMORY_WEIGHT * pagesGain) / this.evenPages;
  }

  private put(part: number, cell: number): void {
    const { load, pages, model } = this.parts[part]!;
    const hand = this.hands[cell]!;
    add(hand.load, load, 1);
    hand.pages += pages;
    hand.models.add(model);
    this.cellOf[part] = cell;
  }

  private take(part: number): void {
    const { load, pages, model } = this.parts[part]!;
    const hand = this.hands[this.cellOf[part]!]!;
    add(hand.load, load, -1);
    hand.pages -= pages;
    hand.models.delete(model);
  }
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

function add(to: Float64Array, values: Float64Array, times: number): void {
  for (let i = 0; i < to.length; i++) to[i]! += times * values[i]!;
}
