import { INFER, LANE_EXEC, LANE_WEIGHTS, LOAD, UNLOAD } from '../core/action.js';
import {
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_NAMES,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
} from '../core/request.js';
import { NS_PER_S } from '../core/units.js';
import { Histogram } from './histogram.js';
import { latencyCdf, latencyMs } from './latency.js';
import type { Recorder } from './recorder.js';
import type {
  ActionCounts,
  GroupSummary,
  LatencyCdf,
  RequestCounts,
  Summary,
  TimeSeries,
} from './results.js';

/** What a summary tells of a run beside what was recorded. */
export type RunIdentity = Pick<Summary, 'name' | 'seed' | 'digest' | 'policy' | 'wall'>;

/** The headline figures of a finished run. */
export function buildSummary(recorder: Recorder, run: RunIdentity): Summary {
  const durationSeconds = countedSeconds(recorder);
  const requests = sumCounts(recorder.sections.map((_, section) => countsOf(recorder, section)));
  const laneNs = recorder.gpus * (recorder.durationNs - recorder.warmupNs);
  return {
    name: run.name,
    seed: run.seed,
    digest: run.digest,
    policy: run.policy,
    durationSeconds,
    requests,
    offeredRps: requests.offered / durationSeconds,
    goodputRps: requests.ok / durationSeconds,
    sloAttainment: attainment(requests),
    ...modelFairness(recorder, attainment(requests)),
    latencyMs: latencyMs(allLatencies(recorder)),
    actions: actionCounts(recorder),
    coldStarts: recorder.coldStarts,
    gpu: {
      execUtilization: recorder.busyNs[LANE_EXEC] / laneNs,
      weightsUtilization: recorder.busyNs[LANE_WEIGHTS] / laneNs,
    },
    wall: run.wall,
  };
}

/**
 * One group a workload section, or none when there is a single section. `slosMs`: the objective of each
 * section's requests, null where they differ.
 */
export function buildGroups(recorder: Recorder, slosMs: readonly (number | null)[]): GroupSummary[] {
  if (recorder.sections.length < 2) return [];
  const durationSeconds = countedSeconds(recorder);
  return recorder.sections.map((name, section) => {
    const requests = countsOf(recorder, section);
    return {
      name,
      sloMs: slosMs[section],
      requests,
      offeredRps: requests.offered / durationSeconds,
      goodputRps: requests.ok / durationSeconds,
      sloAttainment: attainment(requests),
      latencyMs: latencyMs(recorder.latency[section]),
    };
  });
}

/** Rates over virtual time from the end of the warm-up to the nominal end of the workload. */
export function buildTimeSeries(recorder: Recorder): TimeSeries {
  const { bins } = recorder;
  return {
    beginSeconds: bins.fromNs / NS_PER_S,
    binSeconds: bins.widthNs / NS_PER_S,
    offeredRps: bins.perSecond(recorder.offeredByBin),
    goodputRps: bins.perSecond(recorder.okByBin),
    failedRps: bins.perSecond(recorder.failedByBin),
    coldStartRps: bins.perSecond(recorder.coldByBin),
  };
}

/** Latency by percentile over all sections. */
export function buildLatencyCdf(recorder: Recorder): LatencyCdf {
  return latencyCdf(allLatencies(recorder));
}

/** Nominal duration less the warm-up. */
function countedSeconds(recorder: Recorder): number {
  return (recorder.durationNs - recorder.warmupNs) / NS_PER_S;
}

function countsOf(recorder: Recorder, section: number): RequestCounts {
  const begin = section * OUTCOME_NAMES.length;
  const outcomes = recorder.outcomes.subarray(begin, begin + OUTCOME_NAMES.length);
  return {
    offered: outcomes.reduce((sum, count) => sum + count, 0),
    ok: outcomes[OUTCOME_OK],
    late: outcomes[OUTCOME_LATE],
    timeout: outcomes[OUTCOME_TIMEOUT],
    rejected: outcomes[OUTCOME_REJECTED],
    error: outcomes[OUTCOME_ERROR],
  };
}

function sumCounts(parts: readonly RequestCounts[]): RequestCounts {
  return parts.reduce((sum, part) => ({
    offered: sum.offered + part.offered,
    ok: sum.ok + part.ok,
    late: sum.late + part.late,
    timeout: sum.timeout + part.timeout,
    rejected: sum.rejected + part.rejected,
    error: sum.error + part.error,
  }));
}

/** 0 where nothing was offered, so that an empty run passes no threshold by accident. */
function attainment(requests: RequestCounts): number {
  return requests.offered === 0 ? 0 : requests.ok / requests.offered;
}

/** A model with fewer requests says little of how the policy treats it. */
export const FEWEST_REQUESTS = 20;

function modelFairness(
  { offeredByModel, okByModel }: Recorder,
  overall: number,
): Required<Pick<Summary, 'worstModelAttainment' | 'modelsBelowHalf'>> {
  let worst: number | null = null;
  let belowHalf = 0;
  offeredByModel.forEach((offered, model) => {
    if (offered < FEWEST_REQUESTS) return;
    const share = okByModel[model] / offered;
    if (worst === null || share < worst) worst = share;
    if (share < overall / 2) belowHalf++;
  });
  return { worstModelAttainment: worst, modelsBelowHalf: belowHalf };
}

function allLatencies(recorder: Recorder): Histogram {
  if (recorder.latency.length === 1) return recorder.latency[0];
  const all = new Histogram();
  for (const histogram of recorder.latency) all.add(histogram);
  return all;
}

function actionCounts(recorder: Recorder): ActionCounts {
  const inferByBatch: Record<string, number> = {};
  recorder.inferByBatch.forEach((count, batchSize) => {
    if (count > 0) inferByBatch[batchSize] = count;
  });
  return {
    load: recorder.actions[LOAD],
    unload: recorder.actions[UNLOAD],
    infer: recorder.actions[INFER],
    tooLate: recorder.tooLate,
    inferByBatch,
  };
}
