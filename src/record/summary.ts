import { NS_PER_S } from '../base/units.js';
import { INFER, LANE_EXEC, LANE_WEIGHTS, LOAD, UNLOAD } from '../core/action.js';
import { ratioOf, spanNs, spanSeconds } from './counted.js';
import { percentilesMs } from './latency.js';
import { modelFairness } from './model-fairness.js';
import { buildParts, type PaidKind } from './parts.js';
import type {
  ActionCounts,
  RunParts,
  RunSlices,
  SchedulerFigures,
  Summary,
  WeightedFigures,
} from './results.js';
import type { RunTally } from './run-tally.js';

/** Parts of a summary that do not come from the recorder. */
type RunIdentity = Pick<Summary, 'name' | 'kind' | 'seed' | 'wall'>;

interface SummaryOptions {
  /** SLO of each section, null if it varies; default: the SLO of its requests. */
  readonly slosMs?: readonly (number | null)[];
  /** Time in service by kind of GPU; null, the default: the whole run. */
  readonly paid?: readonly PaidKind[] | null;
  /** Percentiles in addition to those of every run, ascending. */
  readonly percentiles?: readonly number[];
}

/** Headline figures of a finished run that clients can see, too. */
export function buildSummary(
  recorder: RunTally,
  { name, kind, seed, wall }: RunIdentity,
  { slosMs, paid = null, percentiles = [] }: SummaryOptions = {},
): Summary {
  const by = buildParts(recorder, slosMs ?? recorder.sections.map((_, i) => recorder.sloMsOf(i)), paid);
  const all = recorder.total();
  const { requests, ...figures } = all.figures(0, recorder, recorder.causes !== null);
  const distributions = { ok: all.inTime(0), offered: requests.offered, executed: all.executed(0) };
  return {
    ...{ name, kind, seed, durationSeconds: spanSeconds(recorder), requests },
    ...(recorder.cancels === 0 ? {} : { cancelled: recorder.cancels }),
    ...figures,
    ...modelFairness(by.model),
    ...weightedFigures(recorder, by),
    ...(percentiles.length === 0 ? {} : { percentiles: percentilesMs(percentiles, distributions) }),
    by,
    wall,
  };
}

/** Weighted totals; empty without classes. */
function weightedFigures(recorder: RunTally, { class: classes }: RunParts): Partial<WeightedFigures> {
  if (classes === undefined) return {};
  const seconds = spanSeconds(recorder);
  const offered = classes.reduce((sum, { weight, requests }) => sum + weight * requests.offered, 0);
  const ok = classes.reduce((sum, { weight, requests }) => sum + weight * requests.ok, 0);
  return {
    weightedOfferedRps: ratioOf(offered, seconds),
    weightedGoodputRps: ratioOf(ok, seconds),
    weightedAttainment: ratioOf(ok, offered),
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
    gpu: {
      execUtilization: ratioOf(busyNs(recorder, LANE_EXEC), laneNs),
      weightsUtilization: ratioOf(busyNs(recorder, LANE_WEIGHTS), laneNs),
    },
    digest,
  };
}

/** Counts per slice up to the nominal end, by section; later requests count in the last of these. */
export function buildSlices(
  { bins, offeredByBin, okByArrival, sections }: RunTally,
  senders: readonly Pick<RunSlices['sections'][number], 'class' | 'tenant' | 'weight'>[],
): Omit<RunSlices, 'oneSample'> {
  const counts = (counter: Float64Array) => {
    const slices = Array.from(counter.subarray(0, bins.count));
    if (bins.count > 0) slices[bins.count - 1]! += counter[bins.count]!;
    return slices;
  };
  return {
    seconds: new Array<number>(bins.count).fill(bins.widthNs / NS_PER_S),
    sections: senders.map((sender, i) => ({
      group: sections[i]!,
      ...sender,
      offered: counts(offeredByBin[i]!),
      ok: counts(okByArrival[i]!),
    })),
  };
}

/** Busy time of a lane, summed over all GPUs. */
function busyNs({ busyNs: byKind }: RunTally, lane: number): number {
  return byKind.reduce((sum, ns, i) => (i % 2 === lane ? sum + ns : sum), 0);
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
