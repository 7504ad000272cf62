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
import type { FanOut } from '../../../src/sim/fan-out.js';
import type { AnswerRecord } from '../../sim/fixtures.js';
import type { Problem } from './checks.js';
import type { ObservedRun } from './observed-run.js';

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
  for (const [s, { id, after, fanOut, model }] of spec.steps.entries()) {
    const requests = steps[s];
    if (requests.length === 0) continue;
    const before = after.flatMap((each) => steps[each]);
    const beginNs = Math.max(own.arrivalNs, ...before.map(({ nowNs }) => nowNs));
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
