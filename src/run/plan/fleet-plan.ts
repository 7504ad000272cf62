import { EscapementError } from '../../base/errors.js';
import type { Experiment } from '../../config/experiment.js';
import { parseExperiment, readExperimentSource } from '../../config/load.js';
import { refuseUnknownSenders } from '../../record/known-senders.js';
import type { Threshold } from '../../record/threshold.js';
import { listed } from '../../text/words.js';
import { seedChanges } from '../random-streams.js';
import { parseSeeds } from '../sweep/vary.js';
import { closestOf } from './closest.js';
import type { FleetPlan, TriedFleet } from './fleet-result.js';
import { searchFleets } from './fleet-search.js';
import { type FleetFacts, FleetSpace, plannedKinds } from './fleet-space.js';
import { fleetHeadline } from './fleet-text.js';
import { atLeast, parseTarget, type TargetFigure } from './judge.js';
import { dropNotes, seedNotes, setupNotes, unreachableNotes, unsureNote } from './notes.js';
import { type Over, parseOver, written } from './over.js';
import type { PlanFlags } from './plan.js';
import { Prober } from './prober.js';
import { Reach } from './reach.js';
import { openPlanStore } from './store.js';
import { Trials } from './trials.js';
import { runCount } from './words.js';

interface FleetRequest extends PlanFlags {
  /** `--over`: ranges of kinds of GPUs, with commas between them. */
  readonly over: string | undefined;
  /** Called once, when everything was checked and before the first run. */
  readonly onStart: (seeds: readonly number[], fleets: number) => void;
}

/**
 * Finds the cheapest fleet with which an experiment meets its targets. The result does not depend on the number of threads.
 * Throws what is wrong with the experiment or the flags.
 */
export async function planFleet(request: FleetRequest): Promise<FleetPlan> {
  const { file, overrides, version } = request;
  if (request.targets.length === 0) throw usage("--target is missing, e.g. --target 'attainment>=0.999'");
  if (request.over === undefined)
    throw usage('--over is missing, e.g. --over cluster.gpus.v100=0:8,cluster.gpus.t4=0:16');
  const targets = request.targets.map(parseTarget);
  const overs = request.over.split(',').map(parseOver);
  const seeds = parseSeeds(request.seeds);
  const kinds = plannedKinds(overs);
  const source = await readExperimentSource(file);
  const most = kinds.map(({ over, counts }) => `${over.key}=${counts.at(-1)}`);
  const whole = await parseExperiment(source.text, file, [...overrides, ...most]).catch((error: unknown) => {
    throw namedAsOver(error, overs, most);
  });
  refuseUnknownSenders(targets, [whole], 'target');
  const space = new FleetSpace(
    kinds,
    factsOf(
      whole,
      kinds.map(({ name }) => name),
    ),
  );
  const fleets = space.byCost().length;
  const trials = new Trials({ text: source.text, file, overrides, candidates: space, seeds });
  const store = openPlanStore(request.outDir, !request.fresh);
  const runner = request.openRunner();
  try {
    const reach = new Reach(targets, whole);
    const prober = new Prober({ trials, targets, reach, version, runner, store, onRun: request.onRun });
    const seedsOfAll = seedChanges(whole) ? seeds : seeds.slice(0, 1);
    request.onStart(seedsOfAll, fleets);
    const found = await searchFleets(space, {
      ruledOut: reach.isBounded ? async (index) => reach.isBeyond(await prober.bounds(index)) : null,
      judge: async (index) => {
        const { unreachable, meets } = await prober.judge(index);
        return unreachable === undefined ? meets : 'never';
      },
    });
    const tried = await triedFleets(prober, space);
    const answer = found.answer === null ? null : space.text(found.answer);
    const closest = answer === null && tried.length > 0 ? closestOf(tried, targets) : null;
    const result = { targets, answer, tried };
    return {
      version: 1,
      minimize: 'cost',
      escapement: version,
      name: whole.name,
      policy: whole.policy.kind,
      headline: fleetHeadline(result),
      ...{ experiment: source.text, overrides, over: overs, targets, seeds },
      outcome: answer === null ? 'none' : 'found',
      answer,
      closest,
      effort: {
        fleets,
        run: tried.length,
        ruledOut: found.ruledOut,
        runs: runCount({ seeds, tried }),
        runsOfAll: fleets * seedsOfAll.length,
      },
      notes: notesOfFleet(found.answer, space, { closest, tried, targets, whole, seeds }),
      tried,
    };
  } finally {
    await runner.close();
  }
}

/** Throws `E_USAGE` for a kind without a price. */
function factsOf({ cluster, file }: Experiment, planned: readonly string[]): FleetFacts {
  const prices = new Map<string, number>();
  const fixed: FleetFacts['fixed'][number][] = [];
  for (const { name, gpus, pricePerHour } of cluster.kinds) {
    if (pricePerHour === null) {
      const what = `--minimize cost: GPUs of kind ${name} have no price in ${file}: add one to cluster.gpus, e.g. price: 0.35/h`;
      throw usage(what);
    }
    if (planned.includes(name!)) prices.set(name!, pricePerHour);
    else fixed.push({ name: name!, gpus, pricePerHour });
  }
  return { prices, fixed, leastGpus: Math.max(1, cluster.workers) };
}

/** Values are overrides for the loader; in messages they are what was planned. */
function namedAsOver(error: unknown, overs: readonly Over[], most: readonly string[]): unknown {
  if (!(error instanceof EscapementError)) return error;
  const at = most.findIndex((text) => error.place.flag === `--set ${text}`);
  if (at < 0) return error;
  return new EscapementError(error.code, error.what, {
    ...error.place,
    flag: `--over ${written(overs[at]!)}`,
  });
}

/** Fleets that were run, the cheapest first. */
async function triedFleets(prober: Prober, space: FleetSpace): Promise<TriedFleet[]> {
  const byName = new Map((await prober.tried()).map((one) => [one.value, one]));
  return space.byCost().flatMap((index) => {
    const one = byName.get(space.text(index));
    if (one === undefined) return [];
    const counts = space.counts(index);
    return {
      ...one,
      gpus: Object.fromEntries(space.kinds.map(({ name }, kind) => [name, counts[kind]!])),
      costPerHour: space.costPerHour(index),
      settings: space.settings(index).map(({ key, value }) => `${key}=${value}`),
    };
  });
}

function notesOfFleet(
  answer: number | null,
  space: FleetSpace,
  {
    closest,
    tried,
    targets,
    whole,
    seeds,
  }: {
    readonly closest: string | null;
    readonly tried: readonly TriedFleet[];
    readonly targets: readonly Threshold[];
    readonly whole: Experiment;
    readonly seeds: readonly number[];
  },
): string[] {
  const notes = unreachableNotes(tried);
  const chosen = answer === null ? undefined : tried.find(({ value }) => value === space.text(answer));
  if (chosen !== undefined) notes.push(...dropNotes(chosen, targets));
  const unsure = tried.find(
    ({ meets, costPerHour }) =>
      meets === 'unsure' && costPerHour < (chosen?.costPerHour ?? Number.POSITIVE_INFINITY),
  );
  if (unsure !== undefined) notes.push(unsureNote(unsure.value, tried));
  const ends = answer === null ? [] : space.atLimit(answer);
  if (ends.length > 0)
    notes.push(
      `the answer has as many ${listed(ends)} as the range allows: a wider range may hold a cheaper fleet`,
    );
  const shown = chosen ?? tried.find(({ value }) => value === closest);
  if (shown !== undefined) notes.push(...worseNotes(tried, shown, targets));
  notes.push(...seedNotes({ seeds, tried }));
  return [...notes, ...setupNotes([whole])];
}

/** Fleets that do worse than the answer, or the one that came closest, although they have all its GPUs. */
function worseNotes(
  tried: readonly TriedFleet[],
  shown: TriedFleet,
  targets: readonly Threshold[],
): string[] {
  const worse = tried.filter((one) => {
    if (one === shown || Object.entries(shown.gpus).some(([kind, gpus]) => gpus > one.gpus[kind]!))
      return false;
    return targets.some((target, i) => isWorse(target, one.figures[i], shown.figures[i]));
  });
  if (worse.length === 0) return [];
  const names =
    worse.length < 3 ? worse.map(({ value }) => value) : [worse[0]!.value, `${worse.length - 1} others`];
  const verb = worse.length === 1 ? 'does' : 'do';
  return [`more GPUs are not always better here: ${listed(names)} ${verb} worse than ${shown.value}`];
}

/** Whether a figure misses what another meets, or where both miss, lies beyond the other's interval. */
function isWorse(target: Threshold, one: TargetFigure | undefined, other: TargetFigure | undefined): boolean {
  // More GPUs cost more.
  if (target.unit === 'price' || target.unit === 'hours' || other?.estimate == null) return false;
  if (other.meets === 'yes') return one?.meets === 'no';
  if (one?.estimate == null || one.estimate.over === null) return false;
  const [a, b] = [one.estimate, other.estimate];
  return atLeast(target) ? a.high < b.low : a.low > b.high;
}

function usage(problem: string): EscapementError {
  return new EscapementError('E_USAGE', problem);
}
