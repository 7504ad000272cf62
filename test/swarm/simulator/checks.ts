import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkRun } from '../../../src/audit/check-run.js';
import type { Experiment } from '../../../src/config/experiment.js';
import { boundOf } from '../../../src/run/bound.js';
import { INVARIANTS } from '../../sim/invariants.js';
import type { ObservedRun } from './observed-run.js';

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
  const check = 'the same run again decides the same';
  const [a, b] = [first.result.summary.digest, second.result.summary.digest];
  if (a !== b) return { check, what: `digests ${a} and ${b}` };
  const other = (['sent', 'answers', 'actions'] as const).find((key) => !areSame(first[key], second[key]));
  return other === undefined ? null : { check, what: `same digest ${a}, but other ${other}` };
}

/** Records in the same order with the same fields; a list in one is not looked at, since the controller uses it again. */
function areSame(records: readonly object[], others: readonly object[]): boolean {
  if (records.length !== others.length) return false;
  return records.every((record, i) => {
    const other = others[i] as Readonly<Record<string, unknown>>;
    for (const [key, value] of Object.entries(record))
      if (!Object.is(value, other[key]) && typeof value !== 'object') return false;
    return true;
  });
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
