import { EscapementError } from '../../base/errors.js';
import { type Candidates, latticeOf, type Over, written } from './over.js';

/** Fleets beyond this are too many to search. */
const MOST_FLEETS = 10_000;
const KEY = /^cluster\.gpus\.([A-Za-z][\w-]*)$/;

/** One kind of GPUs of which a plan chooses how many there are. */
interface PlannedKind {
  readonly name: string;
  readonly over: Over;
  /** The numbers to choose from, ascending. */
  readonly counts: readonly number[];
}

/** The numbers that a plan of fleets may choose of each kind of GPUs. Throws `E_USAGE` where a key is no kind. */
export function plannedKinds(overs: readonly Over[]): PlannedKind[] {
  const kinds = overs.map((over) => {
    const name = KEY.exec(over.key)?.[1];
    if (name === undefined) {
      const what = 'with --minimize cost, ranges are of kinds of GPUs, e.g. cluster.gpus.t4=0:16';
      throw new EscapementError('E_USAGE', `--over ${written(over)}: ${what}`);
    }
    const lattice = latticeOf(over, true);
    return { name, over, counts: Array.from({ length: lattice.size }, (_, i) => Number(lattice.text(i))) };
  });
  const twice = kinds.find(({ name }, i) => kinds.findIndex((other) => other.name === name) < i);
  if (twice !== undefined)
    throw new EscapementError('E_USAGE', `--over ${twice.over.key} is given twice: write one range for it`);
  const fleets = kinds.reduce((product, { counts }) => product * counts.length, 1);
  if (fleets > MOST_FLEETS) {
    const what = `${fleets} fleets are more than can be searched (${MOST_FLEETS}): narrow the ranges or give them steps, e.g. cluster.gpus.t4=0:64:4`;
    throw new EscapementError('E_USAGE', `--over: ${what}`);
  }
  return kinds;
}

interface FixedKind {
  readonly name: string;
  readonly gpus: number;
  readonly pricePerHour: number;
}

/** What the cluster has besides the kinds that are planned, and what each kind costs. */
export interface FleetFacts {
  /** By name: price of one GPU per hour. */
  readonly prices: ReadonlyMap<string, number>;
  /** GPUs that every fleet has: their kind, how many, and the price of one per hour. */
  readonly fixed: readonly FixedKind[];
  /** GPUs that a fleet must have. */
  readonly leastGpus: number;
}

/** All fleets that a plan may choose, by index. */
export class FleetSpace implements Candidates {
  readonly size: number;
  readonly ends: readonly number[];
  /** By kind: how far apart indices are of fleets that differ by one step of it. */
  private readonly strides: readonly number[];
  private readonly fixedGpus: number;
  private readonly fixedCost: number;

  constructor(
    readonly kinds: readonly PlannedKind[],
    private readonly facts: FleetFacts,
  ) {
    const strides: number[] = [];
    let size = 1;
    for (const { counts } of kinds) {
      strides.push(size);
      size *= counts.length;
    }
    this.strides = strides;
    this.size = size;
    this.ends = [size - 1];
    this.fixedGpus = facts.fixed.reduce((sum, { gpus }) => sum + gpus, 0);
    this.fixedCost = facts.fixed.reduce((sum, { gpus, pricePerHour }) => sum + gpus * pricePerHour, 0);
  }

  /** Which of its counts the fleet has of a kind. */
  private stepOf(index: number, kind: number): number {
    return Math.floor(index / this.strides[kind]!) % this.kinds[kind]!.counts.length;
  }

  /** How many GPUs of each planned kind. */
  counts(index: number): number[] {
    return this.kinds.map(({ counts }, kind) => counts[this.stepOf(index, kind)]!);
  }

  gpus(index: number): number {
    return this.counts(index).reduce((sum, count) => sum + count, this.fixedGpus);
  }

  costPerHour(index: number): number {
    const { prices } = this.facts;
    return this.counts(index).reduce(
      (sum, count, kind) => sum + count * prices.get(this.kinds[kind]!.name)!,
      this.fixedCost,
    );
  }

  /** All fleets of which a cluster can be made, from the cheapest to the dearest; of equal cost, fewer GPUs come first. */
  byCost(): readonly number[] {
    const fleets = Array.from({ length: this.size }, (_, index) => {
      return { index, gpus: this.gpus(index), cost: this.costPerHour(index) };
    }).filter(({ gpus }) => gpus >= this.facts.leastGpus);
    // Sums of prices that are equal may differ in the last digit.
    const compared = (a: number, b: number) => (Math.abs(a - b) > 1e-9 * a ? a - b : 0);
    fleets.sort((a, b) => compared(a.cost, b.cost) || a.gpus - b.gpus || a.index - b.index);
    return fleets.map(({ index }) => index);
  }

  /** Kinds of which the fleet has as many as it may, next to others that more of them might replace. */
  atLimit(index: number): string[] {
    const { kinds } = this;
    return kinds.flatMap(({ name, counts }, kind) => {
      const others = kinds.some((_, other) => other !== kind && this.stepOf(index, other) > 0);
      return others && this.stepOf(index, kind) === counts.length - 1 ? name : [];
    });
  }

  /** Whether the fleet has no more of any kind than the other. */
  isWithin(index: number, other: number): boolean {
    return this.kinds.every((_, kind) => this.stepOf(index, kind) <= this.stepOf(other, kind));
  }

  /** `2 × v100 + 5 × t4`, with the kinds that every fleet has. */
  text(index: number): string {
    const counts = this.counts(index);
    const planned = this.kinds.map(({ name }, kind) => ({ name, gpus: counts[kind]! }));
    const parts = [...planned, ...this.facts.fixed].filter(({ gpus }) => gpus > 0);
    if (parts.length === 0) return 'none of these kinds';
    return parts.map(({ name, gpus }) => `${gpus} × ${name}`).join(' + ');
  }

  settings(index: number) {
    const counts = this.counts(index);
    return this.kinds.map(({ over }, kind) => ({ key: over.key, value: String(counts[kind]) }));
  }

  written(key: string): string {
    const kind = this.kinds.find(({ over }) => over.key === key);
    return kind === undefined ? key : written(kind.over);
  }
}
