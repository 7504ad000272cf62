import { EscapementError } from '../base/errors.js';
import { fairBound } from '../bounds/fair.js';
import type { OfferedRequests } from '../bounds/requests.js';
import { type BoundedCluster, upperBounds } from '../bounds/upper-bounds.js';
import type { Experiment } from '../config/experiment.js';
import { type OpenedWorkloads, openWorkloads } from '../config/open-workloads.js';
import { bucketOf, mapExecNs } from '../core/lengths.js';
import type { ModelSpec, ModelTimes } from '../core/model.js';
import { ratioOf, spanSeconds } from '../record/counted.js';
import type { BoundFigures } from '../record/results.js';
import { trueModels } from '../sim/true-models.js';
import type { StreamedSource } from '../workload/source.js';

const INITIAL_CAPACITY = 1 << 12;

/**
 * Upper bounds on the goodput of any scheduler in an experiment, from its counted requests, without running them.
 * Batches are limited by the policy's `maxBatch`, if any. GPUs run at the fastest clock that the experiment sets.
 * Executions take the same times as with `cluster.noise.profile`; if other noise shortens them, the bounds hold only on
 * average. Throws `E_CONFIG_VALUE` for closed-loop workloads, whose requests depend on the answers, and coded errors
 * for bad traces.
 *
 * `fairness` (0 to 1): also the bound for schedulers under which no model's attainment is below that share of the
 * overall one.
 *
 * @example
 * const { bestRps } = await boundOf(await loadExperiment('experiments/schedule-ahead.yaml'));
 */
export async function boundOf(experiment: Experiment, fairness?: number): Promise<BoundFigures> {
  checkOpenLoop(experiment);
  const { cluster, models, policy, seed, warmupNs, classes } = experiment;
  const workload = await openWorkloads(experiment);
  const requests = await readCounted(workload, warmupNs, models);
  const maxBatch = policy.options.maxBatch;
  const bounded = {
    models: atFastestClock(trueModels(models, cluster.noise.profile, seed), cluster.gpuClock),
    gpus: cluster.gpus,
    kinds: cluster.kinds,
    maxBatch: typeof maxBatch === 'number' ? maxBatch : Number.POSITIVE_INFINITY,
  };
  const bounds = upperBounds(requests, bounded);
  const seconds = spanSeconds({ warmupNs, durationNs: workload.durationNs });
  const perSecond = (requests: number) => ratioOf(requests, seconds);
  const { fluid, windowLimited, priced, timePriced } = bounds;
  const best = Math.min(windowLimited, timePriced ?? windowLimited);
  return {
    offeredRps: perSecond(requests.count),
    fluidRps: perSecond(fluid),
    windowLimitedRps: perSecond(windowLimited),
    pricedRps: priced === null ? null : perSecond(priced),
    timePricedRps: timePriced === null ? null : perSecond(timePriced),
    bestRps: perSecond(best),
    ...(classes.length === 0 ? {} : { weightedRps: perSecond(weightedBound(requests, bounded, classes)) }),
    ...(fairness === undefined
      ? {}
      : { fairRps: perSecond(Math.min(best, fairBound(requests, bounded, fairness))) }),
  };
}

/** Largest weight that can be served. */
function weightedBound(
  requests: RequestList,
  cluster: BoundedCluster,
  classes: Experiment['classes'],
): number {
  const { count, model, arrivalNs, sloNs, bucket, requestClass } = requests;
  const weight = Float64Array.from({ length: count }, (_, i) => classes[requestClass[i]].weight);
  return upperBounds({ count, model, arrivalNs, sloNs, bucket, weight }, cluster).windowLimited;
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

/** Reads a workload to its end and keeps the requests that a summary counts: those after the warm-up. */
async function readCounted(
  { source }: OpenedWorkloads,
  warmupNs: number,
  models: readonly ModelSpec[],
): Promise<RequestList> {
  const requests = new RequestList(models);
  for (;;) {
    if (source.starved) await source.refill();
    else if (source.timeNs === Number.POSITIVE_INFINITY) return requests;
    else {
      if (source.timeNs >= warmupNs) requests.add(source);
      source.advance();
    }
  }
}

class RequestList implements OfferedRequests {
  count = 0;
  model = new Int32Array(INITIAL_CAPACITY);
  arrivalNs = new Float64Array(INITIAL_CAPACITY);
  sloNs = new Float64Array(INITIAL_CAPACITY);
  requestClass = new Uint8Array(INITIAL_CAPACITY);
  bucket = new Uint8Array(INITIAL_CAPACITY);

  constructor(private readonly models: readonly ModelSpec[]) {}

  add({ model, timeNs, sloNs, requestClass, length }: StreamedSource): void {
    if (this.count === this.model.length) this.grow();
    this.model[this.count] = model;
    this.arrivalNs[this.count] = timeNs;
    this.sloNs[this.count] = sloNs;
    this.requestClass[this.count] = requestClass;
    this.bucket[this.count] = bucketOf(this.models[model], length);
    this.count++;
  }

  private grow(): void {
    const size = 2 * this.count;
    this.model = grown(this.model, new Int32Array(size));
    this.arrivalNs = grown(this.arrivalNs, new Float64Array(size));
    this.sloNs = grown(this.sloNs, new Float64Array(size));
    this.requestClass = grown(this.requestClass, new Uint8Array(size));
    this.bucket = grown(this.bucket, new Uint8Array(size));
  }
}

function grown<T extends Int32Array | Float64Array | Uint8Array>(from: T, to: T): T {
  to.set(from);
  return to;
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
