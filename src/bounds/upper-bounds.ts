import { invariant } from '../base/invariant.js';
import type { GpuKind } from '../core/cluster-spec.js';
import { bucketCount } from '../core/lengths.js';
import { type ModelSpec, mayBeOn } from '../core/model.js';
import type { PipelineSpec } from '../core/pipelines.js';
import { type BatchKind, batchKinds, cheapestNs, execOf, fluidCosts, windowCosts } from './costs.js';
import { type KindPricesInput, kindPrices } from './kind-prices.js';
import { mostServed, type ServedBound } from './most-served.js';
import { joinSteps, stepRequests } from './pipelines.js';
import { priced } from './priced.js';
import { type OfferedRequests, servableWindows, type Windows } from './requests.js';
import { timePriced } from './time-priced.js';

/** Default limit of policies on batch sizes. */
const DEFAULT_MAX_BATCH = 8;
/** Price of a kind with time to spare, relative to the most expensive; 0 would make time free and prove nothing. */
const LEAST_PRICE = 1e-3;

export interface BoundedCluster {
  readonly models: readonly ModelSpec[];
  readonly gpus: number;
  /** Kinds of those GPUs, if there are several; models are served only where they fit. */
  readonly kinds?: readonly GpuKind[];
  /** Largest usable batch size; 8 by default. */
  readonly maxBatch?: number;
  /** One-way delay of messages between controller and GPUs; 0 by default. */
  readonly delayNs?: number;
  /** True if no GPU holds a model at time 0, so that no batch can begin before a LOAD has ended. */
  readonly startsCold?: boolean;
  /** Pipelines, which requests number after the models. */
  readonly pipelines?: readonly PipelineSpec[];
}

/** Upper bounds on the requests served within their SLOs: whole requests, or their weight if they have weights. */
export interface UpperBounds {
  /** Bound if every batch of every model is full. */
  readonly fluid: number;
  /** Bound if a batch holds only requests whose windows overlap. At most `fluid`. */
  readonly windowLimited: number;
  /** By a price on GPU time, mostly lower; null for weights and pipelines: it is not proved for them. */
  readonly priced: number | null;
  /** By a price that varies over time. At most `priced`; null likewise. */
  readonly timePriced: number | null;
}

/**
 * Bounds that no scheduler can exceed on these requests, even with all of them known in advance. To the advantage of
 * any scheduler, they ignore LOADs after each model's first, memory, copies and controller time. Executions take the
 * time in the profile on their kind of GPU. Proofs in README.md.
 *
 * @example
 * upperBounds(
 *   { count: 2, model: Int32Array.of(0, 0), arrivalNs: Float64Array.of(0, 0), sloNs: Float64Array.of(5e6, 5e6) },
 *   { models: [resnet50], gpus: 1 },
 * ).windowLimited; // 2, if a batch of two takes 5 ms or less
 */
export function upperBounds(requests: OfferedRequests, cluster: BoundedCluster): UpperBounds {
  const { gpus, pipelines = [] } = cluster;
  const { kinds, windows, fluidNs, costNs, shared, speed, free } = boundedProblem(requests, cluster);
  const isWeighted = windows.weight !== null;
  const round = isWeighted ? upwards : whole;
  const fluid = round(free + mostServed(windows, fluidNs, speed).served);
  const windowLimited = Math.min(fluid, round(free + shared.served));
  if (isWeighted || pipelines.length > 0) return { fluid, windowLimited, priced: null, timePriced: null };
  const constant = priced(windows, kinds, costNs, gpus, speed);
  const varied = timePriced(windows, kinds, constant.price, shared.scarceNs, gpus, speed);
  return {
    fluid,
    windowLimited,
    priced: whole(constant.served),
    timePriced: whole(Math.min(constant.served, varied)),
  };
}

/** Inputs of the linear programs: windows, minimum time of each request within its own, and capacity of the GPUs. */
interface BoundedProblem extends PricedBatches {
  readonly windows: Windows;
  /** By request: minimum GPU time in full batches. */
  readonly fluidNs: Float64Array;
  /** By request: its part of the GPU time of any batches of requests whose windows overlap; and what that bounds. */
  readonly costNs: Float64Array;
  readonly shared: ServedBound;
  /** Requests that take no GPU time, or their weight; they have no windows. */
  readonly free: number;
}

export function boundedProblem(requests: OfferedRequests, cluster: BoundedCluster): BoundedProblem {
  const {
    models,
    gpus,
    maxBatch = DEFAULT_MAX_BATCH,
    delayNs = 0,
    startsCold = false,
    pipelines = [],
  } = cluster;
  invariant(gpus >= 1 && maxBatch >= 1, 'there is a GPU, and a batch holds a request');
  const leastNs = batchesOf(cluster, maxBatch).map((sizes, m) =>
    Array.from({ length: bucketCount(models[m]) }, (_, bucket) =>
      Math.min(...sizes.map((size) => execOf(size, bucket))),
    ),
  );
  const steps = pipelines.length === 0 ? null : stepRequests(requests, models, pipelines, leastNs, delayNs);
  const { kinds, speed } = pricedBatches(steps ?? requests, cluster, maxBatch);
  const windows = servableWindows(steps ?? requests, leastNs, delayNs, startsCold ? readyNs(cluster) : []);
  const costsNs = [fluidCosts(windows, kinds), ...windowCosts(windows, kinds)];
  const joined =
    steps === null
      ? { windows, costsNs, free: 0 }
      : joinSteps(requests, steps, windows, costsNs, models.length + pipelines.length);
  const [fluidNs, ...sets] = joined.costsNs;
  const [best] = sets
    .map((costNs) => ({ costNs, shared: mostServed(joined.windows, costNs, speed) }))
    .sort((a, b) => a.shared.served - b.shared.served);
  return { kinds, speed, windows: joined.windows, fluidNs, ...best, free: joined.free };
}

/** End of the earliest LOAD of each model, sent at time 0. */
function readyNs({ models, delayNs = 0 }: BoundedCluster): number[] {
  return models.map(
    ({ loadNs, otherKinds = [] }) =>
      delayNs + otherKinds.reduce((least, times) => Math.min(least, times.loadNs), loadNs),
  );
}

interface PricedBatches {
  /** By model: batch sizes by kind. */
  readonly kinds: readonly (readonly BatchKind[])[];
  /** Total capacity of all GPUs per ns, at the same prices. */
  readonly speed: number;
}

/** Batches of all kinds of GPUs, made comparable by the value of time on each kind for these requests. */
function pricedBatches(requests: OfferedRequests, cluster: BoundedCluster, maxBatch: number): PricedBatches {
  const { models, gpus, kinds: given = [] } = cluster;
  if (given.length <= 1) return { kinds: batchesOf(cluster, maxBatch), speed: gpus };
  const found = kindPrices(pricesInput(requests, models, given, maxBatch));
  const prices = found.map((price) => Math.max(price, LEAST_PRICE * Math.max(...found)));
  return {
    kinds: batchesOf(cluster, maxBatch, prices),
    speed: given.reduce((sum, kind, k) => sum + kind.gpus * prices[k], 0),
  };
}

/** Batches by model on all kinds of GPUs that hold it. */
function batchesOf(
  { models, kinds: given = [] }: BoundedCluster,
  maxBatch: number,
  prices: readonly number[] = [],
): BatchKind[][] {
  return models.map((model) =>
    given.length <= 1
      ? batchKinds(model, maxBatch)
      : given.flatMap(({ pages }, kind) =>
          mayBeOn(model, kind, pages) ? batchKinds(model, maxBatch, kind, prices[kind]) : [],
        ),
  );
}

function pricesInput(
  { count, model, sloNs }: OfferedRequests,
  models: readonly ModelSpec[],
  kinds: readonly GpuKind[],
  maxBatch: number,
): KindPricesInput {
  const mix = new Float64Array(models.length);
  const longestNs = new Float64Array(models.length);
  for (let i = 0; i < count; i++) {
    mix[model[i]]++;
    longestNs[model[i]] = Math.max(longestNs[model[i]], sloNs[i]);
  }
  const costNs = kinds.map(({ pages }, kind) =>
    Float64Array.from(models, (spec, m) =>
      mayBeOn(spec, kind, pages) ? cheapestNs(spec, kind, maxBatch, longestNs[m]) : Number.POSITIVE_INFINITY,
    ),
  );
  return { gpus: kinds.map(({ gpus }) => gpus), costNs, mix };
}

/** Adds a tolerance for rounding in sums of fractions: weights need not be whole numbers. */
function upwards(weight: number): number {
  return weight * (1 + 1e-9);
}

/** Rounds down, since no scheduler serves parts of requests, after adding a tolerance for rounding in sums. */
export function whole(requests: number): number {
  return Math.floor(requests * (1 + 1e-9) + 1e-6);
}
