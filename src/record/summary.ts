import { NS_PER_S } from '../base/units.js';
import { INFER, LANE_EXEC, LANE_WEIGHTS, LOAD, UNLOAD } from '../core/action.js';
import {
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_NAMES,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
} from '../core/request.js';
import { ratioOf, spanNs, spanSeconds } from './counted.js';
import { Histogram } from './histogram.js';
import { latencyCdf, latencyMs, percentilesMs } from './latency.js';
import { failureCounts, modelFairness, modelFigures } from './model-figures.js';
import type {
  ActionCounts,
  GroupSummary,
  LatencyCdf,
  RequestCounts,
  RunSlices,
  SchedulerFigures,
  Summary,
  TimeSeries,
} from './results.js';
import type { RunTally } from './run-tally.js';

/** Parts of a summary that were not recorded. */
type RunIdentity = Pick<Summary, 'name' | 'kind' | 'seed' | 'wall'>;

/** Headline figures of a finished run that clients see, too. `percentiles`: beyond those of every run, ascending. */
export function buildSummary(
  recorder: RunTally,
  { name, kind, seed, wall }: RunIdentity,
  percentiles: readonly number[] = [],
): Summary {
  const [ok, all] = [merged(recorder.okLatency), executed(recorder)];
  const durationSeconds = spanSeconds(recorder);
  const requests = sumCounts(recorder.sections.map((_, section) => countsOf(recorder, section)));
  return {
    name,
    kind,
    seed,
    durationSeconds,
    requests,
    ...(recorder.cancels === 0 ? {} : { cancelled: recorder.cancels }),
    offeredRps: ratioOf(requests.offered, durationSeconds),
    goodputRps: ratioOf(requests.ok, durationSeconds),
    attainment: ratioOf(requests.ok, requests.offered),
    ...modelFairness(modelFigures(recorder)),
    ...(recorder.causes !== null ? { failures: failureCounts(recorder) } : {}),
    offeredLatencyMs: latencyMs(ok, requests.offered),
    executedLatencyMs: latencyMs(all, all.count),
    ...(percentiles.length === 0
      ? {}
      : { percentiles: percentilesMs(percentiles, { ok, offered: requests.offered, executed: all }) }),
    wall,
  };
}

/** Figures that only the scheduler knows. `onNs`: time in service, summed over GPUs; null: the whole run. */
export function buildSchedulerFigures(
  recorder: RunTally,
  { policy, digest }: Pick<SchedulerFigures, 'policy' | 'digest'>,
  onNs: number | null = null,
): SchedulerFigures {
  const laneNs = onNs ?? recorder.gpus * spanNs(recorder);
  return {
    policy,
    actions: actionCounts(recorder),
    coldStarts: recorder.coldStarts,
    gpu: {
      execUtilization: ratioOf(recorder.busyNs[LANE_EXEC], laneNs),
      weightsUtilization: ratioOf(recorder.busyNs[LANE_WEIGHTS], laneNs),
    },
    digest,
  };
}

/** One group per workload section, none if there is only one. `slosMs`: SLO of each section, null where it varies. */
export function buildGroups(recorder: RunTally, slosMs: readonly (number | null)[]): GroupSummary[] {
  if (recorder.sections.length < 2) return [];
  const durationSeconds = spanSeconds(recorder);
  return recorder.sections.map((name, section) => {
    const requests = countsOf(recorder, section);
    return {
      name,
      sloMs: slosMs[section],
      requests,
      offeredRps: ratioOf(requests.offered, durationSeconds),
      goodputRps: ratioOf(requests.ok, durationSeconds),
      attainment: ratioOf(requests.ok, requests.offered),
      offeredLatencyMs: latencyMs(recorder.okLatency[section], requests.offered),
      executedLatencyMs: latencyMs(executedOf(recorder, section), requests.ok + requests.late),
    };
  });
}

/** Rates from the end of the warm-up to the last answer; cold starts only if the scheduler was seen. */
export function buildTimeSeries(recorder: RunTally): TimeSeries {
  const { bins, causes, coldByBin } = recorder;
  const [offeredRps, goodputRps, failedRps, coldStartRps] = bins.perSecond(
    ...[recorder.offeredByBin.reduce(added), recorder.okByBin, recorder.failedByBin, coldByBin],
  ) as [number[], number[], number[], number[]];
  return {
    beginSeconds: bins.fromNs / NS_PER_S,
    binSeconds: bins.seconds,
    ...{ offeredRps, goodputRps, failedRps },
    ...(causes === null ? {} : { coldStartRps }),
  };
}

/** Counts per bin of the time series up to the nominal end, by section; later requests count in the last of these. */
export function buildSlices(
  { bins, offeredByBin, okByArrival }: RunTally,
  senders: readonly Pick<RunSlices['sections'][number], 'class' | 'tenant' | 'weight'>[],
): RunSlices {
  const counts = (counter: Float64Array) => {
    const slices = Array.from(counter.subarray(0, bins.count));
    if (bins.count > 0) slices[bins.count - 1]! += counter[bins.count]!;
    return slices;
  };
  return {
    seconds: new Array<number>(bins.count).fill(bins.seconds),
    sections: senders.map((sender, i) => ({
      ...sender,
      offered: counts(offeredByBin[i]!),
      ok: counts(okByArrival[i]!),
    })),
  };
}

/** Latency by percentile over all offered requests. */
export function buildLatencyCdf(recorder: RunTally): LatencyCdf {
  const { offered } = sumCounts(recorder.sections.map((_, section) => countsOf(recorder, section)));
  return latencyCdf(merged(recorder.okLatency), offered);
}

function countsOf(recorder: RunTally, section: number): RequestCounts {
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

/** Latency of executed requests of all sections. */
function executed({ okLatency, lateLatency }: RunTally): Histogram {
  return merged([...okLatency, ...lateLatency]);
}

function added(a: Float64Array, b: Float64Array): Float64Array {
  return a.map((value, i) => value + b[i]!);
}

function executedOf({ okLatency, lateLatency }: RunTally, section: number): Histogram {
  return merged([okLatency[section], lateLatency[section]]);
}

function merged(histograms: readonly Histogram[]): Histogram {
  if (histograms.length === 1) return histograms[0];
  const all = new Histogram();
  for (const histogram of histograms) all.add(histogram);
  return all;
}

function actionCounts(recorder: RunTally): ActionCounts {
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
