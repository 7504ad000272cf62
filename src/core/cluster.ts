import { BitMatrix } from '../base/bit-matrix.js';
import { BitSet } from '../base/bit-set.js';
import { EscapementError } from '../base/errors.js';
import { NS_PER_S } from '../base/units.js';
import type { Action } from './action.js';
import { Estimates } from './estimates.js';
import { LoadBars } from './load-bars.js';
import { checkModel, type ModelSpec, NO_MODEL } from './model.js';
import { PageCache } from './page-cache.js';
import { Recency } from './recency.js';
import { LaneTimeline } from './timeline.js';

/** What is kept for each model on each GPU fits into a few gigabytes up to here. */
const MAX_INSTANCES = 50e6;
/** Measurements of a model that has not run for so long may be forgotten. */
const STALE_NS = NS_PER_S;

export interface ClusterSpec {
  readonly models: readonly ModelSpec[];
  /** Slots behind them for models that come while it runs; default: none. */
  readonly spareModels?: number;
  /** Largest batch of the models that may come; default: that of those there are. */
  readonly spareBatch?: number;
  readonly gpus: number;
  /** GPUs behind them that are away until workers bring them; default: none. */
  readonly spareGpus?: number;
  /** Pages of each GPU's weights cache. */
  readonly pages: number;
  /** True: a GPU runs a LOAD or an INFER, never both at once. */
  readonly oneLane?: boolean;
}

/**
 * What the controller knows of the cluster: where every model is, what every lane is booked with, how long
 * things take. Policies read it; only the controller writes it, apart from `recency`, which
 * policies renew by their own rules.
 */
export class Cluster {
  /** One entry a slot: `NO_MODEL` where there is none. */
  readonly models: readonly ModelSpec[];
  /** All that it has a number for; `up` are those that are there. */
  readonly gpus: number;
  /** GPUs that take actions. What is spread over GPUs is spread over these. */
  readonly up: BitSet;
  /** Largest batch of any model, also of those that may come. */
  readonly maxBatch: number;

  /** Row = model: GPUs that hold it or are loading it; GPUs where its weights are ready. */
  readonly held: BitMatrix;
  readonly warm: BitMatrix;
  readonly pages: readonly PageCache[];
  /** Models that may not be loaded onto a GPU for a while, because its device failed to. */
  readonly bars: LoadBars;
  readonly exec: readonly LaneTimeline[];
  /** The very timelines of `exec` where GPUs have one lane. */
  readonly weights: readonly LaneTimeline[];
  readonly oneLane: boolean;
  readonly recency: Recency;
  /** INFERs without a result, by GPU and model. */
  private readonly running: Uint16Array;
  /** Last GPU clock that was reported, relative to nominal. */
  readonly clock: Float64Array;
  /** The highest that any GPU ever reported, at least nominal. */
  private highestClock = 1;

  /** Estimates at nominal clock. Row of an INFER: `execRow[model] + batchIndex`. */
  private readonly execEstimates: Estimates;
  private readonly loadEstimates: Estimates;
  /** By model: its first row, and how many rows are its own. */
  private readonly execRow: Int32Array;
  private readonly execRows: Int32Array;
  private present: number;
  /** By model: end of what was measured last. */
  private readonly measuredNs: Float64Array;

  constructor(spec: ClusterSpec) {
    const { spareGpus = 0, pages } = spec;
    const gpus = spec.gpus + spareGpus;
    const spare = Array.from({ length: spec.spareModels ?? 0 }, () => NO_MODEL);
    const models = [...spec.models, ...spare];
    if (!Number.isInteger(spec.gpus) || spec.gpus < 1) {
      throw new EscapementError('E_CONFIG_VALUE', `a cluster needs at least one GPU, found ${spec.gpus}`, {
        key: 'cluster.gpus',
      });
    }
    if (gpus * models.length > MAX_INSTANCES) {
      throw new EscapementError(
        'E_CONFIG_VALUE',
        `${gpus} GPUs times ${models.length} models is more than ${MAX_INSTANCES / 1e6} million instances: use fewer of either`,
        { key: 'cluster.gpus' },
      );
    }
    if (models.length === 0) {
      throw new EscapementError('E_CONFIG_VALUE', 'a cluster needs at least one model', { key: 'models' });
    }
    for (const model of spec.models) checkFits(checkModel(model), pages);
    this.models = models;
    this.present = spec.models.length;
    this.gpus = gpus;
    this.maxBatch = models.reduce((most, model) => Math.max(most, largestBatch(model)), spec.spareBatch ?? 1);
    this.held = new BitMatrix(models.length, gpus);
    this.warm = new BitMatrix(models.length, gpus);
    this.bars = new LoadBars(models.length, gpus);
    this.pages = Array.from({ length: gpus }, () => new PageCache(pages));
    this.exec = Array.from({ length: gpus }, () => new LaneTimeline());
    this.oneLane = spec.oneLane ?? false;
    this.weights = this.oneLane ? this.exec : Array.from({ length: gpus }, () => new LaneTimeline());
    this.recency = new Recency(gpus, models.length);
    this.running = new Uint16Array(gpus * models.length);
    this.clock = new Float64Array(gpus).fill(1);

    this.execRow = new Int32Array(models.length);
    this.execRows = Int32Array.from(models, ({ batchSizes }) => batchSizes.length);
    let rows = 0;
    for (let m = 0; m < models.length; m++) {
      this.execRow[m] = rows;
      rows += models[m].batchSizes.length;
    }
    this.execEstimates = new Estimates(rows);
    this.loadEstimates = new Estimates(models.length);
    this.measuredNs = new Float64Array(models.length);
    for (let m = 0; m < models.length; m++) {
      this.restartEstimates(m);
      if (models[m] === NO_MODEL) this.bars.close(m);
    }
    this.up = new BitSet(gpus);
    for (let gpu = 0; gpu < gpus; gpu++) this.setUp(gpu, gpu < spec.gpus);
  }

  /** For the controller: the GPU takes actions from now on, or none any more. All of its actions must have a result. */
  setUp(gpu: number, isUp: boolean): void {
    this.exec[gpu].setClosed(!isUp);
    this.weights[gpu].setClosed(!isUp);
    if (isUp) this.up.add(gpu);
    else this.up.delete(gpu);
  }

  /** How many models there are. */
  get modelCount(): number {
    return this.present;
  }

  /** Whether there is a model in the slot. */
  hasModel(model: number): boolean {
    return this.models[model] !== NO_MODEL;
  }

  /** Throws `E_PROFILE` or `E_MODEL_TOO_LARGE` for a model that could not be put into a slot. */
  checkNew(spec: ModelSpec): void {
    checkFits(checkModel(spec), this.pages[0].capacity);
    if (largestBatch(spec) <= this.maxBatch) return;
    throw new EscapementError(
      'E_PROFILE',
      `model ${spec.name} has batches of ${largestBatch(spec)}, and the server was started for at most ${this.maxBatch}: leave out the larger ones, or start it again`,
    );
  }

  /** For the controller: a model that `checkNew` takes is in an empty slot now. */
  putModel(model: number, spec: ModelSpec): void {
    (this.models as ModelSpec[])[model] = spec;
    this.present++;
    const rows = spec.batchSizes.length;
    if (rows > this.execRows[model]) {
      this.execRow[model] = this.execEstimates.rows;
      this.execRows[model] = rows;
      this.execEstimates.grow(rows);
    }
    this.measuredNs[model] = 0;
    this.restartEstimates(model);
    this.bars.reopen(model);
  }

  /** For the controller: the model, which no GPU holds, has left its slot. */
  removeModel(model: number): void {
    (this.models as ModelSpec[])[model] = NO_MODEL;
    this.present--;
    this.recency.forget(model);
    this.bars.close(model);
  }

  /** Whether a GPU lacks the model, and may load it. */
  lacks(gpu: number, model: number): boolean {
    return !this.held.has(model, gpu) && !this.bars.has(model, gpu);
  }

  /** Whether no GPU has the model, and the devices have failed to load it. */
  cannotLoad(model: number): boolean {
    return this.bars.isHopeless(model, this.up.count) && this.held.count(model) === 0;
  }

  /** Whether an INFER of the model has no result from the GPU yet: weights in use must stay. */
  isRunning(gpu: number, model: number): boolean {
    return this.running[gpu * this.models.length + model] > 0;
  }

  /** For the controller: INFERs were sent, or have results. */
  countRunning(gpu: number, model: number, change: number): void {
    this.running[gpu * this.models.length + model] += change;
  }

  /** Expected time of an INFER on a GPU at its present clock. */
  execNs(gpu: number, model: number, batchIndex: number): number {
    const nominal = this.execEstimates.get(this.execRow[model] + batchIndex);
    const clock = this.clock[gpu];
    return clock === 1 ? nominal : Math.floor(nominal / clock);
  }

  /** Expected time of an INFER of batch 1 on a GPU as fast as any ever was. */
  shortestExecNs(model: number): number {
    const nominal = this.execEstimates.get(this.execRow[model]);
    return this.highestClock === 1 ? nominal : Math.floor(nominal / this.highestClock);
  }

  /** Expected time of an INFER at nominal clock. */
  nominalExecNs(model: number, batchIndex: number): number {
    return this.execEstimates.get(this.execRow[model] + batchIndex);
  }

  /** Expected time of a LOAD. */
  loadNs(model: number): number {
    return this.loadEstimates.get(model);
  }

  /** Takes in an INFER that went well. */
  measuredExec({ gpu, model, batchIndex, beginNs, endNs, clock }: Action): void {
    const durationNs = endNs - beginNs;
    this.clock[gpu] = clock;
    if (clock > this.highestClock) this.highestClock = clock;
    this.measuredNs[model] = endNs;
    this.execEstimates.record(
      this.execRow[model] + batchIndex,
      clock === 1 ? durationNs : Math.round(durationNs * clock),
    );
  }

  /** Takes in a LOAD that went well. */
  measuredLoad({ model, beginNs, endNs }: Action): void {
    this.measuredNs[model] = endNs;
    this.loadEstimates.record(model, endNs - beginNs);
  }

  /** Expects of a model what its profile says again, if nothing of it was measured lately. Returns whether. */
  forgetMeasurements(model: number, nowNs: number): boolean {
    if (nowNs - this.measuredNs[model] < STALE_NS) return false;
    this.measuredNs[model] = nowNs;
    this.restartEstimates(model);
    return true;
  }

  /**
   * When a request has to start at the latest to end by its deadline. What is refused is not measured: where it would be too
   * late, old measurements are forgotten, so that one slow INFER does not shut its model out for good.
   */
  latestStartNs(model: number, deadlineNs: number, nowNs: number): number {
    const startNs = deadlineNs - this.nominalExecNs(model, 0);
    if (startNs >= nowNs || !this.forgetMeasurements(model, nowNs)) return startNs;
    return deadlineNs - this.nominalExecNs(model, 0);
  }

  private restartEstimates(model: number): void {
    const { loadNs, execNs } = this.models[model];
    this.loadEstimates.restart(model, loadNs);
    for (let b = 0; b < execNs.length; b++) this.execEstimates.restart(this.execRow[model] + b, execNs[b]);
  }
}

function largestBatch({ batchSizes }: ModelSpec): number {
  return batchSizes[batchSizes.length - 1];
}

function checkFits(model: ModelSpec, pages: number): void {
  if (model.pages <= pages) return;
  throw new EscapementError(
    'E_MODEL_TOO_LARGE',
    `model ${model.name} needs ${model.pages} pages and a GPU has ${pages}: raise cluster.pages or leave the model out`,
    { key: 'cluster.pages' },
  );
}
