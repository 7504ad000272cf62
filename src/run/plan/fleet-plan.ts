import { atItsPlace, EscapementError } from '../../base/errors.js';
import { buildExperiment } from '../../config/build.js';
import type { Experiment } from '../../config/experiment.js';
import { ON_DISK } from '../../config/files-on-disk.js';
import type { Threshold } from '../../record/threshold.js';
import { listed } from '../../text/words.js';
import { seedChanges } from '../random-streams.js';
import { searchFleets } from './fleet-search.js';
import { type FleetFacts, FleetSpace, plannedKinds } from './fleet-space.js';
import { isSure } from './judge.js';
import { planNotes, unsureNote } from './notes.js';
import { placeAmong } from './over.js';
import { type PlanRequest, probing, readQuestion } from './plan.js';
import {
  type Confidence,
  closestOf,
  type FleetPlan,
  runCount,
  type Tried,
  type TriedFleet,
} from './plan-result.js';
import { fleetHeadline } from './text.js';

/**
 * Finds the cheapest fleet with which an experiment meets its targets. The result does not depend on the number of
 * threads. Throws errors of the experiment and the flags.
 */
export async function planFleet(request: PlanRequest): Promise<FleetPlan> {
  const { overrides, survives } = request;
  const question = await readQuestion(request, 'cluster.gpus.v100=0:8,cluster.gpus.t4=0:16');
  const { source, targets, overs, seeds } = question;
  const kinds = plannedKinds(overs);
  const most = kinds.map(({ over, counts }) => ({ key: over.key, value: `${counts.at(-1)}`, over }));
  const largest = [...overrides, ...most.map(({ key, value }) => `${key}=${value}`)];
  const whole = await buildExperiment(source, { overrides: largest, host: ON_DISK }).catch(
    (error: unknown) => {
      throw atItsPlace(error, placeAmong(most));
    },
  );
  const names = kinds.map(({ name }) => name);
  const space = new FleetSpace(kinds, factsOf(whole, names, survives ? 2 : 1));
  const fleets = space.size;
  return probing(request, question, space, fleets, async (prober, ends, asked) => {
    const { reach } = prober.means;
    const found = await searchFleets(space, {
      ruledOut: reach.isBounded ? async (index) => reach.isBeyond(await prober.bounds(index)) : null,
      judge: async (index) => {
        const { unreachable, meets } = await prober.judge(index);
        return unreachable === undefined ? meets : 'never';
      },
    });
    // The page for the decision shows larger choices as well.
    if (request.asksWhatIf && found.answer !== null && found.answer + 1 < space.size)
      await prober.judge(found.answer + 1);
    const tried = (await prober.tried()).map(([index, one]) => triedFleet(one, space, index));
    const chosen = tried.find(({ value }) => found.answer !== null && value === space.text(found.answer));
    const ofSearch = [
      ...unsureNotes(tried, chosen),
      ...tieNotes(tried, chosen),
      ...(found.answer === null ? [] : limitNotes(space.atLimit(found.answer))),
    ];
    const { ruledOut } = found;
    return {
      version: 2,
      minimize: 'cost',
      ...asked,
      headline: fleetHeadline(asked, chosen),
      over: overs,
      outcome: chosen === undefined ? 'none' : 'found',
      answer: chosen?.value ?? null,
      closest: chosen === undefined ? (closestOf(tried, targets)?.value ?? null) : null,
      effort: {
        ...{ fleets, run: tried.length, ruledOut, spared: fleets - tried.length - ruledOut },
        runs: runCount({ tried }),
        runsOfAll: space.cases(survives) * (seedChanges(whole) ? seeds.length : 1),
      },
      confidence: confidenceOf(targets, tried, chosen),
      notes: planNotes({ targets, tried, seeds }, chosen, ofSearch, ends),
      tried,
    };
  });
}

/** `least`: number of GPUs, if there can be as many. Throws `E_USAGE` for a kind without a price. */
function factsOf({ cluster, file }: Experiment, planned: readonly string[], least: number): FleetFacts {
  const prices = new Map<string, number>();
  const fixed: FleetFacts['fixed'][number][] = [];
  for (const { name, gpus, pricePerHour } of cluster.kinds) {
    if (pricePerHour === null) {
      const what = `--minimize cost: GPUs of kind ${name} have no price in ${file}: add one to cluster.gpus, e.g. price: 0.35/h`;
      throw new EscapementError('E_USAGE', what);
    }
    if (planned.includes(name!)) prices.set(name!, pricePerHour);
    else fixed.push({ name: name!, gpus, pricePerHour });
  }
  return { prices, fixed, leastGpus: Math.max(Math.min(least, cluster.gpus), cluster.workers) };
}

/** A fleet that was run. */
function triedFleet(one: Tried, space: FleetSpace, index: number): TriedFleet {
  const { counts, costPerHour } = space.fleets[index]!;
  return {
    ...one,
    gpus: Object.fromEntries(space.kinds.map(({ name }, kind) => [name, counts[kind]!])),
    costPerHour,
  };
}

/** Null without an answer, and without several seeds that change its runs. */
function confidenceOf(
  targets: readonly Threshold[],
  tried: readonly TriedFleet[],
  answer: TriedFleet | undefined,
): Confidence | null {
  if (answer === undefined || answer.figures.some(({ estimate }) => estimate?.over !== 'seeds')) return null;
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
function unsureNotes(tried: readonly TriedFleet[], chosen: TriedFleet | undefined): string[] {
  const unsure = tried.find(
    ({ meets, costPerHour }) =>
      meets === 'unsure' && costPerHour < (chosen?.costPerHour ?? Number.POSITIVE_INFINITY),
  );
  return unsure === undefined ? [] : [unsureNote(unsure, tried)];
}

/** Names fleets that meet at the price of the answer. */
function tieNotes(tried: readonly TriedFleet[], chosen: TriedFleet | undefined): string[] {
  const cost = (one?: TriedFleet) => one?.costPerHour.toPrecision(9);
  const equal = tried.filter((one) => one !== chosen && one.meets === 'yes' && cost(one) === cost(chosen));
  return equal.map(({ value }) => `${value} meets at the same price`);
}

function limitNotes(kinds: readonly string[]): string[] {
  if (kinds.length === 0) return [];
  return [
    `the answer has as many ${listed(kinds)} as the range allows: a wider range may hold a cheaper fleet`,
  ];
}
