import { EscapementError } from '../base/errors.js';
import { stream } from '../base/random/streams.js';
import { fairBound } from '../bounds/fair.js';
import type { OfferedRequests } from '../bounds/requests.js';
import { upperBounds } from '../bounds/upper-bounds.js';
import type { Experiment } from '../config/experiment.js';
import { type OpenedWorkloads, openWorkloads } from '../config/open-workloads.js';
import { bucketOf, mapExecNs } from '../core/lengths.js';
import type { ModelSpec, ModelTimes } from '../core/model.js';
import { ratioOf, spanSeconds } from '../record/counted.js';
import type { BoundFigures } from '../record/results.js';
import { drawCounts } from '../sim/fan-out.js';
import { trueModels } from '../sim/true-models.js';
import { drain } from '../workload/source.js';

/**
 * Upper bounds on the goodput of any scheduler in an experiment, from its counted requests, without running them.
 * Batches are limited by the policy's `maxBatch`, if any. GPUs run at the fastest clock that the experiment sets.
 * Executions take the same times as with `cluster.noise.profile`; if other noise shortens them, the bounds hold only on
 * average. Throws `E_CONFIG_VALUE` for closed-loop workloads, whose requests depend on the answers, and coded errors
 * for bad traces.
 *
 * `fairness` (0 to 1): also the bound for schedulers under which no model's attainment is below that share of the
 * overall one. Not with pipelines.
 *
 * @example
 * const { bestRps } = await boundOf(await loadExperiment('experiments/schedule-ahead.yaml'));
 */
export async function boundOf(experiment: Experiment, fairness?: number): Promise<BoundFigures> {
  checkOpenLoop(experiment);
  const { cluster, models, pipelines, policy, seed, warmupNs, classes } = experiment;
  const workload = await openWorkloads(experiment);
  const { requestClass, ...requests } = await readCounted(workload, experiment);
  const maxBatch = policy.options.maxBatch;
  const bounded = {
    models: atFastestClock(trueModels(models, cluster.noise.profile, seed), cluster.gpuClock),
    gpus: cluster.gpus,
    kinds: cluster.kinds,
    maxBatch: typeof maxBatch === 'number' ? maxBatch : Number.POSITIVE_INFINITY,
    delayNs: Math.min(cluster.network.delayNs, ...cluster.changes.map(({ network }) => network.delayNs)),
    startsCold: true,
    pipelines,
  };
  const bounds = upperBounds(requests, bounded);
  const seconds = spanSeconds({ warmupNs, durationNs: workload.durationNs });
  const perSecond = (requests: number) => ratioOf(requests, seconds);
  const { fluid, windowLimited, priced, timePriced } = bounds;
  const best = Math.min(windowLimited, timePriced ?? windowLimited);
  const weight = Float64Array.from(requestClass, (index) => classes[index]?.weight ?? 1);
  return {
    offeredRps: perSecond(requests.count),
    fluidRps: perSecond(fluid),
    windowLimitedRps: perSecond(windowLimited),
    pricedRps: priced === null ? null : perSecond(priced),
    timePricedRps: timePriced === null ? null : perSecond(timePriced),
    bestRps: perSecond(best),
    ...(classes.length === 0
      ? {}
      : { weightedRps: perSecond(upperBounds({ ...requests, weight }, bounded).windowLimited) }),
    ...(fairness === undefined || pipelines.length > 0
      ? {}
      : { fairRps: perSecond(Math.min(best, fairBound(requests, bounded, fairness))) }),
  };
}

function checkOpenLoop({ workloads, file }: Experiment): void {
  const index = workloads.findIndex(({ kind }) => kind === 'closed-loop');
  if (index < 0) return;
  throw new EscapementError(
    'E_CONFIG_VALUE',
    'closed-loop clients send when they are answered, so their requests depend on the scheduler and have no bound; take another kind of workload',
    { file, key: workloads.length === 1 ? 'workload.kind' : `workload.${index}.kind` },
  );
}

/** The requests that a summary counts: those after the warm-up. */
interface CountedRequests extends OfferedRequests {
  readonly bucket: Uint8Array;
  readonly requestClass: Uint8Array;
}

/** Reads a workload to its end. */
async function readCounted(
  { source }: OpenedWorkloads,
  { models, pipelines, seed, warmupNs }: Experiment,
): Promise<CountedRequests> {
  const model: number[] = [];
  const arrivalNs: number[] = [];
  const sloNs: number[] = [];
  const bucket: number[] = [];
  const requestClass: number[] = [];
  const counts: (Int32Array | undefined)[] = [];
  const branches = stream(seed, 'pipelines');
  await drain(source, (arrival) => {
    const pipeline = pipelines[arrival.model - models.length];
    const drawn = pipeline && drawCounts(pipeline, branches, arrival.length);
    if (arrival.timeNs < warmupNs) return;
    counts.push(drawn);
    model.push(arrival.model);
    arrivalNs.push(arrival.timeNs);
    sloNs.push(arrival.sloNs);
    bucket.push(pipeline === undefined ? bucketOf(models[arrival.model], arrival.length) : 0);
    requestClass.push(arrival.requestClass);
  });
  return {
    count: model.length,
    model: Int32Array.from(model),
    arrivalNs: Float64Array.from(arrivalNs),
    sloNs: Float64Array.from(sloNs),
    bucket: Uint8Array.from(bucket),
    requestClass: Uint8Array.from(requestClass),
    counts,
  };
}

/** Scales profiles, measured at the nominal clock, to the fastest one: otherwise they would not be minimum times. */
function atFastestClock(
  models: readonly ModelSpec[],
  changes: readonly { readonly factor: number }[],
): readonly ModelSpec[] {
  const fastest = changes.reduce((most, { factor }) => Math.max(most, factor), 1);
  if (fastest === 1) return models;
  const atFastest = <T extends ModelTimes>(times: T) => ({
    ...times,
    ...mapExecNs(times, (execNs) => Math.round(execNs / fastest)),
  });
  return models.map(({ otherKinds, ...model }) => ({
    ...atFastest(model),
    ...(otherKinds === undefined ? {} : { otherKinds: otherKinds.map(atFastest) }),
  }));
}
