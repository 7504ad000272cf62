import { EscapementError } from '../../base/errors.js';
import type { Experiment } from '../../config/experiment.js';
import { parseExperiment, readExperimentSource } from '../../config/load.js';
import { refuseUnknownSenders } from '../../record/known-senders.js';
import type { Threshold } from '../../record/threshold.js';
import { parseSeeds } from '../sweep/vary.js';
import { closestOf } from './closest.js';
import { boundedTargets, isOutOfReach } from './fleet-bounds.js';
import type { FleetPlan, TriedFleet } from './fleet-result.js';
import { type FleetFound, searchFleets } from './fleet-search.js';
import { type FleetFacts, FleetSpace, plannedKinds } from './fleet-space.js';
import { fleetHeadline } from './fleet-text.js';
import { parseTarget } from './judge.js';
import { dropNotes, setupNotes, unsureNote } from './notes.js';
import { type Over, parseOver, written } from './over.js';
import type { PlanFlags } from './plan.js';
import { Prober } from './prober.js';
import { openPlanStore } from './store.js';
import { Trials } from './trials.js';

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
  const trials = new Trials({ text: source.text, file, overrides, candidates: space, seeds });
  const store = openPlanStore(request.outDir, !request.fresh);
  const runner = request.openRunner();
  try {
    const prober = new Prober({ trials, targets, version, runner, store, onRun: request.onRun });
    const bounded = boundedTargets(targets, whole);
    request.onStart(seeds, space.size);
    const found = await searchFleets(space, {
      ruledOut: async (index) =>
        bounded.length > 0 && isOutOfReach(bounded, await prober.bounds(index).catch(() => []), seeds.length),
      judge: async (index) => {
        await prober.meets(index);
        return prober.verdict(index);
      },
      ahead: (indices) => prober.ahead(indices),
    });
    const tried = await triedFleets(prober, space);
    const answer = found.answer === null ? null : space.text(found.answer);
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
      closest: answer === null && tried.length > 0 ? closestOf(tried, targets) : null,
      effort: {
        fleets: space.size,
        run: tried.length,
        ruledOut: found.ruledOut.length,
        runs: tried.length * seeds.length,
        runsOfAll: space.size * seeds.length,
      },
      notes: notesOfFleet(found, space, { tried, targets, whole, seeds }),
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

async function triedFleets(prober: Prober, space: FleetSpace): Promise<TriedFleet[]> {
  const byName = new Map((await prober.tried()).map((one) => [one.value, one]));
  const fleets: TriedFleet[] = [];
  for (let index = 0; index < space.size; index++) {
    const one = byName.get(space.text(index));
    if (one === undefined) continue;
    const counts = space.counts(index);
    fleets.push({
      ...one,
      gpus: Object.fromEntries(space.kinds.map(({ name }, kind) => [name, counts[kind]!])),
      costPerHour: space.costPerHour(index),
      settings: space.settings(index).map(({ key, value }) => `${key}=${value}`),
    });
  }
  return fleets.sort((a, b) => a.costPerHour - b.costPerHour);
}

function notesOfFleet(
  { answer, contradictions }: FleetFound,
  space: FleetSpace,
  {
    tried,
    targets,
    whole,
    seeds,
  }: {
    readonly tried: readonly TriedFleet[];
    readonly targets: readonly Threshold[];
    readonly whole: Experiment;
    readonly seeds: readonly number[];
  },
): string[] {
  const notes: string[] = [];
  const chosen = answer === null ? undefined : tried.find(({ value }) => value === space.text(answer));
  if (chosen !== undefined) notes.push(...dropNotes(chosen, targets));
  const unsure = tried.find(
    ({ meets, costPerHour }) =>
      meets === 'unsure' && costPerHour < (chosen?.costPerHour ?? Number.POSITIVE_INFINITY),
  );
  if (unsure !== undefined) notes.push(unsureNote(unsure.value));
  if (chosen !== undefined) {
    const ends = space.kinds.filter((_, kind) => space.moved(answer!, kind, 1) === null);
    if (ends.length > 0)
      notes.push(
        `the answer has as many ${ends.map(({ name }) => name).join(' and ')} as the range allows: a wider range may hold a cheaper fleet`,
      );
  }
  if (contradictions.length > 0) {
    const names = contradictions.map((index) => space.text(index)).join('; ');
    notes.push(
      `more GPUs are not always better here: ${names} miss, and smaller fleets meet; repeat with more seeds`,
    );
  }
  if (seeds.length === 1) notes.push('one seed: nothing is known of the spread between repetitions');
  return [...notes, ...setupNotes([whole])];
}

function usage(problem: string): EscapementError {
  return new EscapementError('E_USAGE', problem);
}
