import { EscapementError } from '../../base/errors.js';
import { DEFAULT_MAX_BATCH } from '../../config/capacity.js';
import type { Experiment } from '../../config/experiment.js';
import { type OpenedWorkloads, openWorkloads } from '../../config/open-workloads.js';
import type { ModelSpec } from '../../core/model.js';

/** The GPU time that a workload needs, model by model. Loads are in GPUs that are kept busy. */
export interface MeasuredLoad {
  readonly intervalNs: number;
  /** For each model its load in each interval of the run. */
  readonly loads: readonly Float64Array[];
  /** For each model its load, mean over the run. */
  readonly means: Float64Array;
}

/** Bursts within fewer SLOs than this are absorbed by waiting. */
const SLOS_PER_INTERVAL = 4;
const MOST_INTERVALS = 240;

/**
 * Measures the load of each model by reading the workload to its end. A request costs its share of the fullest batch
 * that can gather within its SLO at the rate of its interval; nothing, if not even a batch of one can end in time.
 * Throws `E_CONFIG_VALUE` for closed-loop clients, whose requests depend on the answers, and errors of reading traces.
 */
export async function measureLoad(experiment: Experiment): Promise<MeasuredLoad> {
  checkOpenLoop(experiment);
  const { models, sloNs, warmupNs, policy } = experiment;
  const workload = await openWorkloads(experiment);
  const countedNs = workload.durationNs - warmupNs;
  const intervals = Math.max(
    1,
    Math.min(MOST_INTERVALS, Math.floor(countedNs / (SLOS_PER_INTERVAL * sloNs))),
  );
  const intervalNs = countedNs / intervals;
  const counts = await countRequests(workload, { models: models.length, warmupNs, intervals, intervalNs });
  const { maxBatch } = policy.options;
  const most = typeof maxBatch === 'number' ? maxBatch : DEFAULT_MAX_BATCH;
  const loads = models.map((model, i) =>
    Float64Array.from({ length: intervals }, (_, interval) => {
      const requests = counts.requests[i]![interval]!;
      if (requests === 0) return 0;
      const meanSloNs = counts.slosNs[i]![interval]! / requests;
      return (requests * costNs(model, { sloNs: meanSloNs, rate: requests / intervalNs, most })) / intervalNs;
    }),
  );
  return { intervalNs, loads, means: Float64Array.from(loads, meanOf) };
}

interface Batching {
  readonly sloNs: number;
  /** Requests per ns. */
  readonly rate: number;
  /** The policy's largest batch. */
  readonly most: number;
}

/** GPU time of a request in the cheapest batch that can both gather and end within the SLO. */
function costNs({ batchSizes, execNs }: ModelSpec, { sloNs, rate, most }: Batching): number {
  let least = Number.POSITIVE_INFINITY;
  for (const [i, size] of batchSizes.entries()) {
    const slackNs = sloNs - execNs[i]!;
    if (slackNs < 0 || (size > most && i > 0)) continue;
    least = Math.min(least, execNs[i]! / Math.min(size, 1 + rate * slackNs));
  }
  return least === Number.POSITIVE_INFINITY ? 0 : least;
}

interface Counts {
  /** Requests of each model in each interval, and the sum of their SLOs. */
  readonly requests: readonly Float64Array[];
  readonly slosNs: readonly Float64Array[];
}

async function countRequests(
  { source }: OpenedWorkloads,
  {
    models,
    warmupNs,
    intervals,
    intervalNs,
  }: {
    readonly models: number;
    readonly warmupNs: number;
    readonly intervals: number;
    readonly intervalNs: number;
  },
): Promise<Counts> {
  const rows = () => Array.from({ length: models }, () => new Float64Array(intervals));
  const counts = { requests: rows(), slosNs: rows() };
  for (;;) {
    if (source.starved) await source.refill();
    else if (source.timeNs === Number.POSITIVE_INFINITY) return counts;
    else {
      const { timeNs, model, sloNs } = source;
      // What arrives at the nominal end, or in a last row after it, counts in the last interval.
      const interval = Math.min(intervals - 1, Math.floor((timeNs - warmupNs) / intervalNs));
      if (interval >= 0) {
        counts.requests[model]![interval]!++;
        counts.slosNs[model]![interval]! += sloNs;
      }
      source.advance();
    }
  }
}

function checkOpenLoop({ workloads, file }: Experiment): void {
  const index = workloads.findIndex(({ kind }) => kind === 'closed-loop');
  if (index < 0) return;
  throw new EscapementError(
    'E_CONFIG_VALUE',
    'closed-loop clients send when they are answered, so the load of their models cannot be measured beforehand; take another kind of workload',
    { file, key: workloads.length === 1 ? 'workload.kind' : `workload.${index}.kind` },
  );
}

function meanOf(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
