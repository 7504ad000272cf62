import { EscapementError } from '../../base/errors.js';
import { type Candidates, latticeOf, type Over, written } from './over.js';

/** Limit on the number of fleets of a search. */
const MOST_FLEETS = 10_000;
const KEY = /^cluster\.gpus\.([A-Za-z][\w-]*)$/;

/** One kind of GPUs whose number is planned. */
interface PlannedKind {
  readonly name: string;
  readonly over: Over;
  /** Numbers to choose from, ascending. */
  readonly counts: readonly number[];
}

/** Numbers of each kind of GPUs that a fleet plan may choose. Throws `E_USAGE` if a key is not a kind. */
export function plannedKinds(overs: readonly Over[]): PlannedKind[] {
  const kinds = overs.map((over) => {
    const name = KEY.exec(over.key)?.[1];
    if (name === undefined) {
      const what = 'with --minimize cost, ranges are of kinds of GPUs, e.g. cluster.gpus.t4=0:16';
      throw new EscapementError('E_USAGE', `--over ${written(over)}: ${what}`);
    }
    // A range of one is of a kind that every fleet has.
    if (over.from === over.to && /^\d+$/.test(over.from)) return { name, over, counts: [Number(over.from)] };
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

/** The cluster apart from the planned kinds, and the price of each kind. */
export interface FleetFacts {
  /** By name: price of one GPU per hour. */
  readonly prices: ReadonlyMap<string, number>;
  /** GPUs of every fleet: their kind, number, and price of one per hour. */
  readonly fixed: readonly FixedKind[];
  /** Minimum number of GPUs of a fleet. */
  readonly leastGpus: number;
}

/** One choice of the planned kinds. */
interface Fleet {
  /** Number of GPUs of each planned kind. */
  readonly counts: readonly number[];
  /** Total number, including those of every fleet. */
  readonly gpus: number;
  readonly costPerHour: number;
}

/** All possible fleets of a cluster by ascending cost, by index; at equal cost, fewer GPUs come first. */
export class FleetSpace implements Candidates {
  readonly fleets: readonly Fleet[];
  readonly ends: readonly number[];

  constructor(
    readonly kinds: readonly PlannedKind[],
    private readonly facts: FleetFacts,
  ) {
    const all = combinations(kinds.map(({ counts }) => counts)).map((counts) =>
      fleetOf(counts, kinds, facts),
    );
    // Sums of equal prices may differ in the last digit.
    const compared = (a: number, b: number) => (Math.abs(a - b) > 1e-9 * a ? a - b : 0);
    this.fleets = all
      .filter(({ gpus }) => gpus >= facts.leastGpus)
      .sort((a, b) => compared(a.costPerHour, b.costPerHour) || a.gpus - b.gpus);
    const most = Math.max(...this.fleets.map(({ gpus }) => gpus));
    this.ends = [this.fleets.findIndex(({ gpus }) => gpus === most)];
  }

  get size(): number {
    return this.fleets.length;
  }

  /** Number of fleets; if they must survive a loss, also counts each with a GPU of each of its kinds lost. */
  cases(survives: boolean): number {
    const kinds = ({ counts }: Fleet) =>
      counts.filter((count) => count > 0).length + this.facts.fixed.filter(({ gpus }) => gpus > 0).length;
    return this.fleets.reduce((sum, fleet) => sum + 1 + (survives ? kinds(fleet) : 0), 0);
  }

  /** Kinds at their maximum in the fleet, next to others that more of them might replace. */
  atLimit(index: number): string[] {
    const { counts } = this.fleets[index]!;
    const isLeast = (kind: number) => counts[kind] === this.kinds[kind]!.counts[0];
    return this.kinds.flatMap(({ name, counts: all }, kind) => {
      const others = counts.some((_, other) => other !== kind && !isLeast(other));
      return others && counts[kind] === all.at(-1) ? name : [];
    });
  }

  /** True if the fleet has no more of any kind than the other. */
  isWithin(index: number, other: number): boolean {
    const most = this.fleets[other]!.counts;
    return this.fleets[index]!.counts.every((count, kind) => count <= most[kind]!);
  }

  /** Formats `2 × v100 + 5 × t4`, including the kinds of every fleet. */
  text(index: number): string {
    const { counts } = this.fleets[index]!;
    const planned = this.kinds.map(({ name }, kind) => ({ name, gpus: counts[kind]! }));
    return [...planned, ...this.facts.fixed]
      .filter(({ gpus }) => gpus > 0)
      .map(({ name, gpus }) => `${gpus} × ${name}`)
      .join(' + ');
  }

  name(index: number): string {
    return this.text(index);
  }

  settings(index: number) {
    const { counts } = this.fleets[index]!;
    return this.kinds.map(({ over }, kind) => ({ key: over.key, value: String(counts[kind]), over }));
  }
}

/** The first kind varies fastest. */
function combinations(counts: readonly (readonly number[])[]): number[][] {
  return counts.reduce<number[][]>(
    (all, own) => own.flatMap((count) => all.map((others) => [...others, count])),
    [[]],
  );
}

function fleetOf(
  counts: readonly number[],
  kinds: readonly PlannedKind[],
  { prices, fixed }: FleetFacts,
): Fleet {
  const planned = counts.map((gpus, kind) => ({ gpus, pricePerHour: prices.get(kinds[kind]!.name)! }));
  const all = [...fixed, ...planned];
  return {
    counts,
    gpus: all.reduce((sum, { gpus }) => sum + gpus, 0),
    costPerHour: all.reduce((sum, { gpus, pricePerHour }) => sum + gpus * pricePerHour, 0),
  };
}
