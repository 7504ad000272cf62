import { usageError } from '../../base/errors.js';
import type { Experiment } from '../../config/experiment.js';
import { experimentNotes, sharesLine } from '../../config/policy-notes.js';
import { noteTexts } from '../../record/policy-notes.js';
import { causesText } from '../../report/generator.js';
import { plural } from '../../text/words.js';
import { fleetSpace } from './fleet-space.js';
import { keySpace } from './key-space.js';
import { parseOver } from './over.js';
import { closestOf, type Plan, runCount, shownOf } from './plan-result.js';
import { endsOf, Prober } from './prober.js';
import { reachOf } from './reach.js';
import type { Preference } from './search.js';
import { askedBy, inputsOf, openRuns, type RunsRequest, runWhatIfs } from './what-ifs.js';

interface PlanRequest extends RunsRequest {
  /** `--over`: the key and its range; for fleets one range per kind of GPUs, separated by commas. */
  readonly over: string | undefined;
  /** `cost`: the cheapest fleet is wanted. */
  readonly minimize: 'cost' | null;
  /** Which values are better, for keys whose meaning does not tell. */
  readonly prefer: Preference | null;
  /** True: targets must also hold after the loss of any one GPU. */
  readonly survives: boolean;
  /** True: the answer is also run in scenarios. */
  readonly asksWhatIf: boolean;
}

/**
 * Finds the best value of one key at which an experiment meets its targets, or the cheapest fleet. The result does not
 * depend on the number of threads. Throws errors of the experiment and the flags; `E_USAGE` also if the operator must
 * say which of several values is better.
 */
export async function makePlan(request: PlanRequest): Promise<Plan> {
  const { overrides, survives, asksWhatIf, minimize } = request;
  if (request.targets.length === 0)
    throw usageError("--target is missing, e.g. --target 'attainment>=0.999'");
  if (request.over === undefined) {
    const example = minimize === null ? 'cluster.gpus=1:64' : 'cluster.gpus.v100=0:8,cluster.gpus.t4=0:16';
    throw usageError(`--over is missing, e.g. --over ${example}`);
  }
  const overs = request.over.split(',').map(parseOver);
  const asked = { ...(await askedBy(request)), overs, survives };
  const { targets } = asked;
  const space = minimize === null ? await keySpace(asked, request.prefer) : await fleetSpace(asked);
  const ends = await endsOf(asked, space.ends);
  const [first] = ends as [Experiment];
  if (survives) checkSurvival(ends);
  const { name: largest, settings } = space.ends.at(-1)!;
  const whatIf = asksWhatIf ? { name: largest, overrides: settings } : null;
  const means = await openRuns(request, asked, ends, whatIf, space.size);
  const found = await space.find(new Prober(asked, means), reachOf(targets, first), ends);
  const { tried, answer, ruledOut, spared, outcome, headline } = found;
  const plan: Plan = {
    ...{ version: 4, ...inputsOf(asked, first), survives },
    ...{ minimize, over: overs, resolution: space.resolution, headline, outcome },
    answer: answer?.value ?? null,
    before: found.before?.value ?? null,
    closest: answer === null ? (closestOf(tried, targets)?.value ?? null) : null,
    notes: [...found.notes, ...setupNotes(ends)],
    effort: { candidates: space.size, run: tried.length, ruledOut, spared, runs: runCount(tried) },
    ...{ confidence: found.confidence ?? null, tried },
  };
  const all = { ...plan, notes: [...missNotes(plan), ...plan.notes] };
  if (!asksWhatIf || answer === null) return all;
  const ofAnswer = { ...asked, overs: [], survives: false, overrides: [...overrides, ...answer.settings] };
  return { ...all, whatIfs: await runWhatIfs(ofAnswer, means) };
}

/** Throws `E_USAGE` for clusters of one GPU, or without a fixed number of GPUs. */
function checkSurvival(ends: readonly Experiment[]): void {
  const problem = ends.some(({ scaler }) => scaler.kind !== 'none')
    ? 'needs a fixed number of GPUs: leave out the scaler'
    : ends.every(({ cluster }) => cluster.gpus === 1)
      ? 'nothing is left of one GPU without it: give the range more of them'
      : null;
  if (problem !== null) throw usageError(`--survive 1: ${problem}`);
}

/** Causes of the misses of the closest. */
function missNotes(plan: Plan): string[] {
  const { details, cells } = shownOf(plan) ?? {};
  if (plan.answer !== null || details === undefined) return [];
  const reasons = causesText(details.failures);
  const requests = plural(Math.round(details.offered * cells!.length), 'request');
  return reasons === '' ? [] : [`of the closest, of ${requests}: ${reasons}`];
}

/** Unsupported settings of the policy, and effective shares of tenants; leaves out notes that hold at one end alone. */
export function setupNotes(ends: readonly Experiment[]): string[] {
  const [first = [], ...others] = ends.map((end) => {
    const shares = sharesLine(end.tenants.list);
    return [...noteTexts(experimentNotes(end)).map(({ text }) => text), ...(shares === null ? [] : [shares])];
  });
  return first.filter((note) => others.every((notes) => notes.includes(note)));
}
