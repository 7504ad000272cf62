import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkRun } from '../../../src/audit/check-run.js';
import type { Experiment } from '../../../src/config/experiment.js';
import type { PipelineConfig } from '../../../src/config/pipelines.js';
import { type ModelSpec, shortestExecNs } from '../../../src/core/model.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_LATE,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
} from '../../../src/core/request.js';
import { LIMIT_PIPELINE } from '../../../src/core/tenants.js';
import { boundOf } from '../../../src/run/bound.js';
import type { FanOut } from '../../../src/sim/fan-out.js';
import type { AnswerRecord } from '../../sim/fixtures.js';
import { INVARIANTS } from '../../sim/invariants.js';
import { type ObservedRun, observe } from './observed-run.js';

/** Something that does not hold: which check found it, and what it is in one line. */
export interface Problem {
  readonly check: string;
  readonly what: string;
}

/** The first invariant of simulated runs that does not hold. */
export function brokenInvariant(experiment: Experiment, run: ObservedRun): Problem | null {
  const { cluster, models } = experiment;
  const { noise, gpuClock, changes } = cluster;
  const isSteady = changes.length === 0 && noise.distribution === 'normal' && noise.profile === 0;
  const seen = {
    kinds: cluster.kinds,
    ...{ models, gpus: cluster.gpus, oneLane: cluster.oneLane, overheadNs: cluster.overheadNs },
    exactExec: isSteady && gpuClock.length === 0 && noise.exec === 0 && noise.stragglers === 0,
    exactLoad: isSteady && noise.load === 0,
    offered: run.sent.length + run.answers.filter(({ step }) => step > 0).length,
    ...{ answers: run.answers, actions: run.actions },
    ...{ gone: run.gone, padding: experiment.padding },
  };
  for (const [name, invariant] of Object.entries(INVARIANTS)) {
    const [what] = invariant(seen);
    if (what !== undefined) return { check: `invariant: ${name}`, what };
  }
  return null;
}

/** What `escapement check` finds in the folder of a run. */
export function auditProblem(outDir: string): Problem | null {
  const { claims, violations } = checkRun(outDir, { slackNs: 0 });
  const claim = claims.find(({ ok }) => !ok);
  if (claim !== undefined) return { check: `check: ${claim.figure}`, what: JSON.stringify(claim) };
  const [violation] = violations;
  return violation === undefined
    ? null
    : { check: `check: rule ${violation.rule}`, what: JSON.stringify(violation) };
}

/** Each answer is of a request as it was sent: nothing is lost, invented or changed on the way, but that pipelines have no lengths. */
export function requestProblem({ models }: Experiment, { sent, answers }: ObservedRun): Problem | null {
  const check = 'requests are answered as they were sent';
  const own = answers.filter(({ step }) => step <= 0).sort((a, b) => a.id - b.id);
  if (sent.length !== own.length) return { check, what: `${sent.length} sent, ${own.length} answered` };
  for (const [i, { id, arrivalNs, ...answer }] of own.entries()) {
    const { timeNs, ...request } = { ...sent[i], ...(answer.model < models.length ? {} : { length: 0 }) };
    const fields = ['model', 'sloNs', 'user', 'requestClass', 'tenant', 'length'] as const;
    if (arrivalNs !== timeNs || fields.some((field) => answer[field] !== request[field]))
      return {
        check,
        what: `request ${id} was sent as ${JSON.stringify(sent[i])}, answered as ${JSON.stringify(answer)}`,
      };
  }
  return null;
}

/**
 * Little's law, with each side from another source: the requests in the system, counted from arrivals and answers over
 * time, come to the sum of the latencies in the log.
 */
export function littleProblem({ sent, answers }: ObservedRun, outDir: string): Problem | null {
  const own = answers.filter(({ step }) => step <= 0);
  const changes = [...sent.map(({ timeNs }) => [timeNs, 1]), ...own.map(({ nowNs }) => [nowNs, -1])];
  changes.sort(([a, up], [b, down]) => a - b || down - up);
  let [present, lastNs, areaNs] = [0, 0, 0];
  for (const [atNs, change] of changes) {
    areaNs += present * (atNs - lastNs);
    lastNs = atNs;
    present += change;
    if (present < 0) return { check: "Little's law", what: `at ${atNs} ns more was answered than was sent` };
  }
  const [header, ...rows] = readFileSync(join(outDir, 'requests.tsv'), 'utf8').trimEnd().split('\n');
  const [column, parent] = ['latency', 'parent_id'].map((name) => header.split('\t').indexOf(name));
  const latencyNs = rows.reduce((sum, row) => {
    const cells = row.split('\t');
    return (cells[parent] ?? '-1') === '-1' ? sum + Number(cells[column]) : sum;
  }, 0);
  // Sums beyond 2^53 are rounded.
  if (Math.abs(areaNs - latencyNs) <= 1e-9 * latencyNs) return null;
  return {
    check: "Little's law",
    what: `${areaNs} ns of requests in the system, ${latencyNs} ns of latency`,
  };
}

/** The same run again decides, does and answers the same. */
export function repetitionProblem(first: ObservedRun, second: ObservedRun): Problem | null {
  const [a, b] = [first.result.summary.digest, second.result.summary.digest];
  return a === b ? null : { check: 'the same run again decides the same', what: `digests ${a} and ${b}` };
}

const MS = 1e6;
/** Some go before their deadline, some after it, most stay. */
const PATIENCES = [0, 1, 3 * MS, 20 * MS, 150 * MS, ...new Array<number>(5).fill(Number.POSITIVE_INFINITY)];
const patienceOf = (nth: number) => PATIENCES[(nth * 7) % PATIENCES.length];

/** Where clients go, each request is answered all the same, or withdrawn when its client goes and not before. */
export async function leavingProblem(experiment: Experiment): Promise<Problem | null> {
  const run = await observe(experiment, undefined, patienceOf);
  const own = run.answers.filter(({ step }) => step <= 0).sort((a, b) => a.id - b.id);
  const early = own.find(
    ({ outcome, arrivalNs, nowNs }, nth) =>
      outcome === OUTCOME_CANCELLED && nowNs - arrivalNs < patienceOf(nth),
  );
  if (early !== undefined) return { check: 'clients wait', what: JSON.stringify(early) };
  return (
    requestProblem(experiment, run) ?? brokenInvariant(experiment, run) ?? pipelineProblem(experiment, run)
  );
}

/** No policy serves more than the bound allows, where there is one. */
export async function boundProblem(experiment: Experiment, { result }: ObservedRun): Promise<Problem | null> {
  const { workloads, cluster, pipelines } = experiment;
  const { noise, changes } = cluster;
  if (pipelines.length > 0) return null;
  const shortens =
    noise.exec > 0 || noise.distribution === 'profile' || changes.some((one) => one.noise.exec > 0);
  if (shortens || workloads.some(({ kind }) => kind === 'closed-loop')) return null;
  const { goodputRps } = result.summary;
  const { bestRps, weightedRps } = await boundOf(experiment);
  // Both are shares of the same whole number of requests.
  const { weightedGoodputRps = 0 } = result.summary;
  if (weightedRps != null && weightedGoodputRps !== null && weightedGoodputRps > weightedRps * (1 + 1e-9)) {
    const what = `goodput by weight ${weightedGoodputRps} rps, bound ${weightedRps} rps`;
    return { check: 'no policy exceeds the bound', what };
  }
  if (goodputRps === null || bestRps === null || goodputRps <= bestRps * (1 + 1e-9)) return null;
  return { check: 'no policy exceeds the bound', what: `goodput ${goodputRps} rps, bound ${bestRps} rps` };
}

/** A pipeline's request, and those of its steps, each in order of their answers. */
interface Flow {
  readonly spec: PipelineConfig;
  readonly own: AnswerRecord;
  readonly steps: readonly (readonly AnswerRecord[])[];
}

/** Steps run in their order, by their deadlines, and a pipeline's request ends as they do: from the answers alone. */
export function pipelineProblem(
  { models, pipelines }: Experiment,
  { answers, actions }: ObservedRun,
): Problem | null {
  const check = 'pipelines run as they are declared';
  const parts = new Map<number, AnswerRecord[]>();
  for (const answer of answers) {
    if (answer.step <= 0) continue;
    const of = parts.get(answer.parent) ?? [];
    parts.set(answer.parent, of);
    of.push(answer);
  }
  const sentNs = new Map(actions.map((action) => [action.id, action.sentNs]));
  const firsts = pipelines.map((_, p) => 1 + pipelines.slice(0, p).flatMap(({ steps }) => steps).length);
  for (const own of answers.filter(({ model }) => model >= models.length)) {
    const p = own.model - models.length;
    const spec = pipelines[p];
    const of = parts.get(own.id) ?? [];
    parts.delete(own.id);
    const steps = spec.steps.map((_, s) => of.filter(({ step }) => step === firsts[p] + s));
    const what =
      orderProblem({ spec, own, steps }, models) ||
      endProblem({ spec, own, steps }) ||
      (of.some(({ action }) => (sentNs.get(action) ?? 0) > own.nowNs) ? 'goes on after its answer' : '');
    if (what !== '') return { check, what: `${what}: ${JSON.stringify({ own, of })}` };
  }
  return parts.size === 0 ? null : { check, what: `steps of no request: ${JSON.stringify([...parts][0])}` };
}

function orderProblem({ spec, own, steps }: Flow, models: readonly ModelSpec[]): string {
  const endNs = own.arrivalNs + own.sloNs;
  /** By step; one without requests ends as it begins. */
  const endsNs: number[] = [];
  for (const [s, { id, after, fanOut, model }] of spec.steps.entries()) {
    const requests = steps[s];
    const beginNs = Math.max(own.arrivalNs, ...after.map((each) => endsNs[each]));
    endsNs[s] = Math.max(beginNs, ...requests.map(({ nowNs }) => nowNs));
    if (requests.length === 0) continue;
    const before = after.flatMap((each) => steps[each]);
    if (after.length > 0 && before.length === 0) return `${id} comes after skipped steps only`;
    if (before.some(({ outcome }) => outcome > OUTCOME_LATE)) return `${id} comes after one that failed`;
    if (!allows(fanOut, requests.length)) return `${id} has ${requests.length} requests`;
    const byNs = splitNs(spec, s, own, models) ?? endNs;
    for (const each of requests) {
      const dueNs = each.arrivalNs + each.sloNs;
      if (
        each.model !== model ||
        (['user', 'requestClass', 'tenant'] as const).some((key) => each[key] !== own[key])
      )
        return `${id} is sent as something else`;
      if (each.arrivalNs !== beginNs) return `${id} begins ${each.arrivalNs - beginNs} ns late`;
      if (dueNs <= beginNs || dueNs > byNs + 1) return `${id} is to end ${dueNs - byNs} ns late`;
      const isExact = spec.split !== 'slack' || spec.steps.every((next) => !next.after.includes(s));
      if (isExact && dueNs < byNs - 1) return `${id} is to end ${byNs - dueNs} ns early`;
    }
  }
  return '';
}

function endProblem({ spec, own, steps }: Flow): string {
  const { outcome, nowNs, arrivalNs, limit } = own;
  const of = steps.flat();
  if (outcome <= OUTCOME_LATE) {
    const missing = spec.steps.find(
      ({ after, fanOut, probability }, s) =>
        steps[s].length === 0 &&
        probability === 1 &&
        !allows(fanOut, 0) &&
        (after.length === 0 || after.some((each) => steps[each].length > 0)),
    );
    if (missing !== undefined) return `ends without ${missing.id}`;
    if (of.some((each) => each.outcome > OUTCOME_LATE)) return 'ends well although a step failed';
    return nowNs === Math.max(arrivalNs, ...of.map((each) => each.nowNs)) ? '' : 'ends at another time';
  }
  const failed = of.filter((each) => each.outcome > OUTCOME_LATE && each.outcome !== OUTCOME_CANCELLED);
  const failedNs = Math.min(...failed.map((each) => each.nowNs));
  if (failedNs < nowNs) return 'goes on after a step failed';
  if (of.some((each) => each.arrivalNs > nowNs)) return 'begins steps after its answer';
  if (failedNs === nowNs) {
    const isAsked = failed.some((each) => each.outcome === outcome || outcome === OUTCOME_TIMEOUT);
    return isAsked ? '' : 'fails otherwise than its step';
  }
  if (outcome === OUTCOME_CANCELLED) return '';
  if (outcome === OUTCOME_REJECTED) return of.length === 0 ? '' : 'is refused after it began';
  return outcome === OUTCOME_TIMEOUT && limit === LIMIT_PIPELINE ? '' : 'fails for no reason';
}

/** When a split that is fixed in advance has the step end: by the longest ways before and after it. */
function splitNs(
  { steps, split }: PipelineConfig,
  step: number,
  { arrivalNs, sloNs }: AnswerRecord,
  models: readonly ModelSpec[],
): number | null {
  if (split === 'slack') return null;
  const weights = steps.map(({ model, budget }) =>
    split === 'equal' ? 1 : split === 'fixed' ? budget : shortestExecNs(models[model]),
  );
  const to = (s: number): number => weights[s] + Math.max(0, ...steps[s].after.map(to));
  const from = (s: number): number =>
    Math.max(0, ...steps.flatMap(({ after }, t) => (after.includes(s) ? weights[t] + from(t) : [])));
  return arrivalNs + (sloNs * to(step)) / (to(step) + from(step));
}

function allows(fanOut: FanOut, count: number): boolean {
  switch (fanOut.kind) {
    case 'constant':
      return count === fanOut.value;
    case 'uniform':
      return count >= fanOut.from && count <= fanOut.to;
    case 'poisson':
      return count <= fanOut.max;
    case 'list':
      return fanOut.values.includes(count);
    case 'length':
      return true;
  }
}
