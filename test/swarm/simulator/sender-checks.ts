import type { Experiment } from '../../../src/config/experiment.js';
import { openWorkloads } from '../../../src/config/open-workloads.js';
import { OUTCOME_CANCELLED, OUTCOME_NAMES } from '../../../src/core/request.js';
import { LIMIT_NONE, LIMIT_RATE, LIMIT_SHARE } from '../../../src/core/tenants.js';
import type { RunParts } from '../../../src/record/results.js';
import type { AnswerRecord } from '../../sim/fixtures.js';
import type { Problem } from './checks.js';
import type { ObservedRun } from './observed-run.js';

const NS_PER_S = 1e9;
/** Sums of floating point. */
const ROUNDING = 1e-6;

/** Requests are of the class and tenant of their section, which are limited as they are declared and counted as they came. */
export async function senderProblem(experiment: Experiment, run: ObservedRun): Promise<Problem | null> {
  const { classes, tenants } = experiment;
  return (
    (await sectionProblem(experiment, run)) ??
    countProblem(
      'class',
      run.result.summary.by.class,
      classes.map((_, index) => counted(experiment, run, ({ requestClass }) => requestClass === index)),
    ) ??
    countProblem(
      'tenant',
      run.result.summary.by.tenant,
      tenants.list.map((_, index) => counted(experiment, run, ({ tenant }) => tenant === index)),
    ) ??
    limitProblem(experiment, run)
  );
}

async function sectionProblem(experiment: Experiment, { sent }: ObservedRun): Promise<Problem | null> {
  const { workloads, classes, tenants } = experiment;
  const { sectionStarts } = await openWorkloads(experiment);
  for (const { user, requestClass, tenant } of sent) {
    const section = workloads[sectionStarts.findLastIndex((start) => start <= user)];
    const isIts =
      classes[requestClass]?.name === (section.class ?? classes[0]?.name) &&
      tenants.list[tenant]?.name === (section.tenant ?? tenants.list[0]?.name);
    if (isIts) continue;
    const what = `user ${user} sends as class ${requestClass} and tenant ${tenant}, with the section ${JSON.stringify(section)}`;
    return { check: 'a request is of the class and tenant of its section', what };
  }
  return null;
}

function counted(
  { warmupNs }: Experiment,
  { answers }: ObservedRun,
  isOf: (answer: AnswerRecord) => boolean,
) {
  return answers.filter((answer) => answer.step <= 0 && answer.arrivalNs >= warmupNs && isOf(answer));
}

function countProblem(
  what: string,
  parts: RunParts['length'] = [],
  answers: readonly (readonly AnswerRecord[])[],
): Problem | null {
  const check = `the summary counts each ${what}`;
  if (parts.length !== answers.length)
    return { check, what: `${parts.length} of ${answers.length} are there` };
  for (const [i, { key, requests, failures }] of parts.entries()) {
    const limited = (limit: number) => answers[i].filter((answer) => answer.limit === limit).length;
    const seen: Record<string, number> = {
      offered: answers[i].length,
      ...Object.fromEntries(
        OUTCOME_NAMES.map((outcome, number) => [
          outcome,
          answers[i].filter((answer) => answer.outcome === number).length,
        ]).filter(([outcome]) => outcome !== 'cancelled'),
      ),
      ...{ overRate: limited(LIMIT_RATE), overShare: limited(LIMIT_SHARE) },
    };
    const said: Record<string, number> = { ...failures, ...requests };
    const wrong = Object.keys(seen).find((name) => seen[name] !== said[name]);
    if (wrong !== undefined)
      return { check, what: `${key} has ${said[wrong]} ${wrong}, and ${seen[wrong]} were seen` };
  }
  return null;
}

/** A token bucket for each tenant: what it refuses is refused for its rate, and nothing else is. */
function limitProblem({ tenants: { list }, models }: Experiment, { answers }: ObservedRun): Problem | null {
  const check = 'a tenant is limited to its rate';
  // Those that were withdrawn may have come that far, or not.
  if (answers.some(({ outcome }) => outcome === OUTCOME_CANCELLED)) return null;
  const buckets = list.map(({ burst }) => ({ tokens: burst, atNs: 0 }));
  const single = answers.filter(({ model }) => model < models.length);
  for (const answer of single.sort((a, b) => a.id - b.id)) {
    const { tenant, arrivalNs, limit, action } = answer;
    if (limit !== LIMIT_NONE && (action !== -1 || list.length === 0))
      return { check, what: `what was refused is executed: ${JSON.stringify(answer)}` };
    if (list.length === 0) continue;
    const { rateRps, burst } = list[tenant];
    const bucket = buckets[tenant];
    if (rateRps !== Number.POSITIVE_INFINITY) {
      bucket.tokens = Math.min(burst, bucket.tokens + ((arrivalNs - bucket.atNs) / NS_PER_S) * rateRps);
      bucket.atNs = arrivalNs;
    }
    const holds = limit === LIMIT_RATE ? bucket.tokens < 1 + ROUNDING : bucket.tokens > 1 - ROUNDING;
    if (!holds) return { check, what: `with ${bucket.tokens} tokens: ${JSON.stringify(answer)}` };
    if (limit !== LIMIT_RATE && rateRps !== Number.POSITIVE_INFINITY) bucket.tokens--;
  }
  return null;
}
