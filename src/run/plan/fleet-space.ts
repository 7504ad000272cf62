import { atItsPlace, usageError } from '../../base/errors.js';
import { buildExperiment } from '../../config/build.js';
import type { Experiment } from '../../config/experiment.js';
import { ON_DISK } from '../../config/files-on-disk.js';
import type { Threshold } from '../../record/threshold.js';
import { kindOfGpus } from '../../report/quantity.js';
import { listed } from '../../text/words.js';
import { isOverSeeds, isSure, type Verdict } from './judge.js';
import { unsureNote } from './key-space.js';
import { latticeOf, type Over, written } from './over.js';
import { type Candidate, type Confidence, pricedName, type Tried } from './plan-result.js';
import { type Asked, placeAmong } from './prober.js';
import { type SearchSpace, wantedText } from './space.js';

/** Limit on the number of fleets of a search. */
const MOST_FLEETS = 10_000;

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
    const name = kindOfGpus(over.key);
    if (name === null)
      throw usageError(
        `--over ${written(over)}: with --minimize cost, ranges are of kinds of GPUs, e.g. cluster.gpus.t4=0:16`,
      );
    // A range of one is of a kind that every fleet has.
    if (over.from === over.to && /^\d+$/.test(over.from)) return { name, over, counts: [Number(over.from)] };
    const lattice = latticeOf(over, true);
    return { name, over, counts: Array.from({ length: lattice.size }, (_, i) => Number(lattice.text(i))) };
  });
  const twice = kinds.find(({ name }, i) => kinds.findIndex((other) => other.name === name) < i);
  if (twice !== undefined)
    throw usageError(`--over ${twice.over.key} is given twice: write one range for it`);
  const fleets = kinds.reduce((product, { counts }) => product * counts.length, 1);
  if (fleets > MOST_FLEETS)
    throw usageError(
      `--over: ${fleets} fleets are more than can be searched (${MOST_FLEETS}): narrow the ranges or give them steps, e.g. cluster.gpus.t4=0:64:4`,
    );
  return kinds;
}

/** GPUs of a kind, and the price of one per hour. */
interface PricedKind {
  readonly name: string;
  readonly gpus: number;
  readonly pricePerHour: number;
}

/** One choice of the planned kinds. */
export interface Fleet extends Candidate {
  /** Number of GPUs of each planned kind. */
  readonly counts: readonly number[];
  /** Total number, including those of every fleet. */
  readonly total: number;
  readonly costPerHour: number;
}

/**
 * All fleets of some kinds by ascending cost; at equal cost, fewer GPUs come first. `kinds`: of the cluster; those that
 * are not planned are in every fleet; `least`: fewest GPUs of a fleet.
 */
export function fleetsOf(
  planned: readonly PlannedKind[],
  kinds: readonly PricedKind[],
  least: number,
): Fleet[] {
  const fixed = kinds.filter(({ name }) => planned.every((one) => one.name !== name));
  // The first kind varies fastest.
  const combinations = planned.reduce<number[][]>(
    (all, { counts }) => counts.flatMap((count) => all.map((others) => [...others, count])),
    [[]],
  );
  const fleets = combinations.map((counts): Fleet => {
    const own = planned.map(({ name }, i) => {
      return { ...kinds.find((kind) => kind.name === name)!, gpus: counts[i]! };
    });
    const rented = [...own, ...fixed];
    const name = [...own, ...fixed]
      .filter(({ gpus }) => gpus > 0)
      .map((kind) => `${kind.gpus} × ${kind.name}`)
      .join(' + ');
    return {
      ...{ value: name, name, counts },
      settings: planned.map(({ over }, i) => `${over.key}=${counts[i]}`),
      gpus: Object.fromEntries(own.map((kind) => [kind.name, kind.gpus])),
      total: rented.reduce((sum, { gpus }) => sum + gpus, 0),
      costPerHour: rented.reduce((sum, { gpus, pricePerHour }) => sum + gpus * pricePerHour, 0),
    };
  });
  // Sums of equal prices may differ in the last digit.
  const compared = (a: number, b: number) => (Math.abs(a - b) > 1e-9 * a ? a - b : 0);
  return fleets
    .filter(({ total }) => total >= least)
    .sort((a, b) => compared(a.costPerHour, b.costPerHour) || a.total - b.total);
}

/** Fleets of several kinds of GPUs. Throws errors of the experiment, and `E_USAGE` for a kind without a price. */
export async function fleetSpace(asked: Asked): Promise<SearchSpace> {
  const { source, overs, overrides, targets, survives } = asked;
  const planned = plannedKinds(overs);
  const largest = planned.map(({ over, counts }) => `${over.key}=${counts.at(-1)}`);
  const whole = await buildExperiment(source, { overrides: [...overrides, ...largest], host: ON_DISK }).catch(
    (error: unknown) => {
      throw atItsPlace(error, (override, code) => placeAmong(overs, override, code));
    },
  );
  const { cluster } = whole;
  const least = Math.max(Math.min(survives ? 2 : 1, cluster.gpus), cluster.workers);
  const fleets = fleetsOf(planned, cluster.kinds.map(pricedKind(whole)), least);
  const end = fleets.reduce((most, fleet) => (fleet.total > most.total ? fleet : most));
  return {
    ...{ size: fleets.length, resolution: '', ends: [bare(end)] },
    find: async (prober, reach) => {
      const found = await cheapest(fleets, {
        ruledOut: reach && (async (fleet) => reach(await prober.bounds(bare(fleet)))),
        judge: async (fleet) => (await prober.judge(bare(fleet))).meets,
      });
      const tried = await prober.tried();
      const answer = tried.find(({ value }) => value === found.answer?.value) ?? null;
      const headline =
        answer === null
          ? `No fleet within the ranges meets ${wantedText(asked)}`
          : `Cheapest fleet with ${wantedText(asked)}: ${pricedName(answer)}`;
      return {
        ...{ tried, answer, before: null, outcome: answer === null ? ('none' as const) : ('found' as const) },
        ...{ headline, ruledOut: found.ruledOut, spared: fleets.length - tried.length - found.ruledOut },
        confidence: confidenceOf(targets, tried, answer),
        notes: [
          ...unsureNotes(tried, answer),
          ...(found.answer === null ? [] : limitNotes(planned, found.answer)),
        ],
      };
    },
  };
}

/** A fleet as a candidate of a plan. */
function bare({ value, name, settings, gpus, costPerHour }: Fleet): Candidate {
  return { value, name, settings, gpus: gpus!, costPerHour };
}

function pricedKind({ file }: Experiment) {
  return ({ name, gpus, pricePerHour }: Experiment['cluster']['kinds'][number]): PricedKind => {
    if (pricePerHour !== null) return { name: name!, gpus, pricePerHour };
    throw usageError(
      `--minimize cost: GPUs of kind ${name} have no price in ${file}: add one to cluster.gpus, e.g. price: 0.35/h`,
    );
  };
}

/** Environment of a search for fleets; repeated calls return the same. */
export interface FleetPort {
  /** True if no scheduler could meet every target with the fleet, nor with fewer GPUs; null: there are no bounds. */
  readonly ruledOut: ((fleet: Fleet) => Promise<boolean>) | null;
  /** Runs the fleet. */
  judge(fleet: Fleet): Promise<Verdict>;
}

/** Number of fleets run in parallel. Not the number of threads, on which the result must not depend. */
const BATCH = 8;
/** Number of fleets among which the next bound is chosen. */
const MOST_COMPARED = 64;

/**
 * Finds the cheapest fleet that meets its targets, and the number of fleets ruled out by upper bounds.
 *
 * Fleets run from the cheapest on until one meets. Many policies serve less with more GPUs if some are slow, so a fleet
 * that misses says nothing about smaller ones. Only fleets with which no scheduler could meet the targets are skipped.
 */
export async function cheapest(
  fleets: readonly Fleet[],
  port: FleetPort,
): Promise<{ readonly answer: Fleet | null; readonly ruledOut: number }> {
  const open = port.ruledOut === null ? fleets : await withinBounds(fleets, port.ruledOut);
  const ruledOut = fleets.length - open.length;
  for (let from = 0; from < open.length; from += BATCH) {
    const batch = open.slice(from, from + BATCH);
    const verdicts = await Promise.all(batch.map((fleet) => port.judge(fleet)));
    if (verdicts.includes('yes')) return { answer: batch[verdicts.indexOf('yes')]!, ruledOut };
  }
  return { answer: null, ruledOut };
}

/**
 * Fleets that bounds do not rule out. Ruling out a fleet rules out all with no more GPUs of any kind. If a bound does
 * not rule out a fleet, larger ones are not bounded: they are seldom ruled out where a smaller one is not.
 */
async function withinBounds(
  fleets: readonly Fleet[],
  ruledOut: (fleet: Fleet) => Promise<boolean>,
): Promise<readonly Fleet[]> {
  const out = new Set<Fleet>();
  let open = fleets;
  while (open.length > 0) {
    const chosen = mostTelling(open);
    const isOut = await ruledOut(chosen);
    if (isOut) for (const fleet of fleets) if (isWithin(fleet, chosen)) out.add(fleet);
    open = open.filter((fleet) => !(isOut ? isWithin(fleet, chosen) : isWithin(chosen, fleet)));
  }
  return fleets.filter((fleet) => !out.has(fleet));
}

/** Fleet with the bound that settles the most open fleets in the worse of its two cases. */
function mostTelling(open: readonly Fleet[]): Fleet {
  const stride = Math.ceil(open.length / MOST_COMPARED);
  const compared = open
    .filter((_, place) => place % stride === 0)
    .map((fleet) => {
      const ifOut = open.filter((other) => isWithin(other, fleet)).length;
      const ifNot = open.filter((other) => isWithin(fleet, other)).length;
      return { fleet, settled: Math.min(ifOut, ifNot) };
    });
  return compared.reduce((best, next) => (next.settled > best.settled ? next : best)).fleet;
}

/** True if a fleet has no more of any kind than the other. */
export function isWithin({ counts }: Fleet, other: Fleet): boolean {
  return counts.every((count, kind) => count <= other.counts[kind]!);
}

/** Null without an answer, and without several seeds that change its runs. */
function confidenceOf(
  targets: readonly Threshold[],
  tried: readonly Tried[],
  answer: Tried | null,
): Confidence | null {
  if (answer === null || answer.figures.some(({ estimate }) => estimate === null || !isOverSeeds(estimate)))
    return null;
  const sureness = tried.map(({ figures }, place) =>
    targets.map((target, i) => figures[i] !== undefined && isSure(target, figures[i], place + 1)),
  );
  const at = tried.indexOf(answer);
  const sure = tried.find((_, place) => sureness[place]!.every((verdict) => verdict === true));
  const own = sureness[at]!;
  const unknown = own.includes(null) && !own.includes(false);
  return { compared: at + 1, isSure: unknown ? null : sure === answer, sure: sure?.value ?? null };
}

/** Warns that a cheaper fleet may suffice. */
function unsureNotes(tried: readonly Tried[], answer: Tried | null): string[] {
  const mostPerHour = answer?.costPerHour ?? Number.POSITIVE_INFINITY;
  const unsure = tried.find(({ meets, costPerHour }) => meets === 'unsure' && costPerHour! < mostPerHour);
  return unsure === undefined ? [] : [unsureNote(unsure)];
}

/** Warns of kinds at their maximum, next to others that more of them might replace. */
function limitNotes(planned: readonly PlannedKind[], { counts }: Fleet): string[] {
  const isMore = (kind: number) => counts[kind] !== planned[kind]!.counts[0];
  const most = planned.filter(
    (kind, at) =>
      counts[at] === kind.counts.at(-1) && planned.some((_, other) => other !== at && isMore(other)),
  );
  if (most.length === 0) return [];
  const names = listed(most.map(({ name }) => name));
  return [`the answer has as many ${names} as the range allows: a wider range may hold a cheaper fleet`];
}
