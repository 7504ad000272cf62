import { BitMatrix } from '../base/bit-matrix.js';
import { BitSet } from '../base/bit-set.js';
import { EscapementError } from '../base/errors.js';
import type { Action } from './action.js';
import {
  type ClusterSpec,
  checkFits,
  checkInstances,
  checkSpec,
  kindByGpu,
  largestBatch,
  slotsOf,
} from './cluster-spec.js';
import type { Estimates } from './estimates.js';
import { ExecRows } from './exec-rows.js';
import { KindBars } from './kind-bars.js';
import { KindEstimates } from './kind-estimates.js';
import { LoadBars } from './load-bars.js';
import { checkModel, type ModelSpec, NO_MODEL, shortestExecNs, timesOn } from './model.js';
import { PageCache } from './page-cache.js';
import { Recency } from './recency.js';
import { LaneTimeline } from './timeline.js';

/**
 * The controller's view of the cluster: where every model is, how far each lane is booked, how long things take.
 * Policies read it; only the controller writes it, except `recency`, which each policy renews by its own rules.
 */
export class Cluster {
  /** One entry per slot; `NO_MODEL` marks an empty one. */
  readonly models: readonly ModelSpec[];
  /** Number of GPUs, including absent ones; `up` holds those in service. */
  readonly gpus: number;
  /** GPUs that take actions. Work and statistics are spread over these only. */
  readonly up: BitSet;
  /** Largest batch of any model, including those that may be added. */
  readonly maxBatch: number;

  /** Row = model: GPUs that hold it or are loading it; GPUs where its weights are ready. */
  readonly held: BitMatrix;
  readonly warm: BitMatrix;
  readonly pages: readonly PageCache[];
  /** Models temporarily barred from a GPU because its device failed to load them. */
  readonly bars: LoadBars;
  readonly exec: readonly LaneTimeline[];
  /** Same objects as `exec` where GPUs have one lane. */
  readonly weights: readonly LaneTimeline[];
  readonly oneLane: boolean;
  readonly lanes: Lanes;
  recency: Recency;
  /** By GPU and model: INFERs without a result. */
  private running: Uint16Array;
  /** By GPU: last reported clock, relative to nominal. */
  readonly clock: Float64Array;
  /** Highest clock any GPU ever reported, at least nominal. */
  private highestClock = 1;
  /** Number of kinds; kind of each GPU; by kind, number of GPUs that are up. */
  readonly kinds: number;
  readonly kindOf: Uint8Array;
  readonly upOfKind: Int32Array;
  /** By kind: pages of a GPU's weights cache; estimates; where there are several, the models each is unfit for. */
  private readonly pagesOf: readonly number[];
  private readonly estimates: readonly KindEstimates[];
  private readonly kindBars: KindBars | null;
  /** By GPU: estimates of its kind. */
  private readonly execOn: Estimates[];
  readonly rows: ExecRows;
  private present: number;

  constructor(spec: ClusterSpec) {
    const gpus = spec.gpus + (spec.spareGpus ?? 0);
    const models = slotsOf(spec);
    const { kinds = [{ gpus: spec.gpus, pages: spec.pages }] } = spec;
    this.pagesOf = kinds.map(({ pages }) => pages);
    checkSpec(spec, gpus, models.length, this.pagesOf);
    this.models = models;
    this.present = spec.models.length;
    this.gpus = gpus;
    this.kinds = kinds.length;
    this.kindOf = kindByGpu(kinds, gpus);
    this.maxBatch = models.reduce((most, model) => Math.max(most, largestBatch(model)), spec.spareBatch ?? 1);
    this.held = new BitMatrix(models.length, gpus);
    this.warm = new BitMatrix(models.length, gpus);
    this.kindBars = kinds.length === 1 ? null : new KindBars(models, this.kindOf, this.pagesOf);
    this.bars = new LoadBars(models.length, gpus, this.kindBars);
    this.pages = Array.from(this.kindOf, (kind) => new PageCache(this.pagesOf[kind]));
    this.exec = Array.from({ length: gpus }, () => new LaneTimeline());
    this.oneLane = spec.oneLane ?? false;
    this.weights = this.oneLane ? this.exec : Array.from({ length: gpus }, () => new LaneTimeline());
    this.lanes = new Lanes(this.exec, this.weights);
    this.recency = new Recency(gpus, models.length);
    this.running = new Uint16Array(gpus * models.length);
    this.clock = new Float64Array(gpus).fill(1);
    this.rows = new ExecRows(models, spec.padding ?? 'batch');
    this.estimates = kinds.map((_, kind) => new KindEstimates(kind, models.length, this.rows.count));
    this.execOn = Array.from(this.kindOf, (kind) => this.estimates[kind].exec);
    for (let m = 0; m < models.length; m++) this.open(m);
    this.up = new BitSet(gpus);
    this.upOfKind = new Int32Array(kinds.length);
    for (let gpu = 0; gpu < gpus; gpu++) this.setUp(gpu, gpu < spec.gpus);
  }

  /** For the controller: puts the GPU into or out of service. All of its actions must have a result. */
  setUp(gpu: number, isUp: boolean): void {
    this.lanes.setClosed(gpu, !isUp);
    const changed = isUp ? this.up.add(gpu) : this.up.delete(gpu);
    if (changed) this.upOfKind[this.kindOf[gpu]] += isUp ? 1 : -1;
  }

  /** For the controller: sets the kind of an absent, empty GPU before it returns. */
  setKind(gpu: number, kind: number): void {
    if (this.kindOf[gpu] === kind) return;
    this.kindOf[gpu] = kind;
    this.execOn[gpu] = this.estimates[kind].exec;
    (this.pages as PageCache[])[gpu] = new PageCache(this.pagesOf[kind]);
  }

  /** For the controller: records that a request for the model arrived. */
  offered(model: number, sloNs: number): void {
    this.kindBars?.offered(model, sloNs);
  }

  /** Number of model slots. */
  get modelCount(): number {
    return this.present;
  }

  /** True if the slot holds a model. */
  hasModel(model: number): boolean {
    return this.models[model] !== NO_MODEL;
  }

  /** Throws `E_PROFILE` or `E_MODEL_TOO_LARGE` for a model that no slot could take. */
  checkNew(spec: ModelSpec): void {
    checkModel(spec, this.kinds);
    checkFits(spec, Math.max(...this.pagesOf));
    if (largestBatch(spec) <= this.maxBatch) return;
    throw new EscapementError(
      'E_PROFILE',
      `model ${spec.name} has batches of ${largestBatch(spec)}, and the server was started for at most ${this.maxBatch}: leave out the larger ones, or start it again`,
    );
  }

  /** Throws `E_CONFIG_VALUE` for more slots than fit. */
  checkSlots(slots: number): void {
    checkInstances(this.gpus, slots);
  }

  /** For the controller, while no action runs: adds empty slots, up to this number. A new policy must follow. */
  grow(slots: number): void {
    const { models, gpus } = this;
    const before = models.length;
    while (models.length < slots) (models as ModelSpec[]).push(NO_MODEL);
    this.held.grow(slots);
    this.warm.grow(slots);
    this.bars.grow(slots);
    this.kindBars?.grow(slots);
    this.recency = new Recency(gpus, slots);
    this.running = new Uint16Array(gpus * slots);
    const rows = this.rows.grow();
    for (const estimates of this.estimates) estimates.grow(slots, rows);
    for (let m = before; m < slots; m++) this.open(m);
  }

  /** For the controller: puts a model that passed `checkNew` into an empty slot. */
  putModel(model: number, spec: ModelSpec): void {
    (this.models as ModelSpec[])[model] = this.rows.scheduled(spec);
    this.present++;
    const added = this.rows.put(model);
    for (const { exec } of this.estimates) exec.grow(added);
    for (const estimates of this.estimates) estimates.renew(model);
    for (const estimates of this.estimates) this.restart(estimates, model);
    this.kindBars?.put(model);
    this.bars.reopen(model);
  }

  /** For the controller: empties the slot of a model that no GPU holds. */
  removeModel(model: number): void {
    (this.models as ModelSpec[])[model] = NO_MODEL;
    this.present--;
    this.recency.forget(model);
    this.bars.close(model);
  }

  /** True if the GPU lacks the model and may load it. */
  lacks(gpu: number, model: number): boolean {
    return !this.held.has(model, gpu) && !this.bars.has(model, gpu);
  }

  /** True if no GPU has the model and devices have failed to load it. */
  cannotLoad(model: number): boolean {
    return this.held.count(model) === 0 && this.bars.isHopeless(model, this.placesFor(model));
  }

  /**
   * True if the GPU may hold the model: its worker has it, it fits, and the kind is fast enough for some of its requests.
   */
  suits(gpu: number, model: number): boolean {
    return !this.bars.isAbsent(model, gpu) && (this.kindBars === null || !this.kindBars.has(model, gpu));
  }

  /** True if every GPU in service whose worker has the model holds it. */
  isEverywhere(model: number): boolean {
    const most = this.bars.workersDiffer ? this.placesFor(model) : this.up.count;
    return this.held.count(model) >= most;
  }

  /** Number of GPUs in service that may hold the model. */
  placesFor(model: number): number {
    if (this.bars.workersDiffer) {
      let places = 0;
      for (let gpu = this.up.next(0); gpu >= 0; gpu = this.up.next(gpu + 1))
        if (this.suits(gpu, model)) places++;
      return places;
    }
    if (this.kindBars === null) return this.up.count;
    let places = 0;
    for (let kind = 0; kind < this.kinds; kind++)
      if (!this.kindBars.hasKind(model, kind)) places += this.upOfKind[kind];
    return places;
  }

  /** True if no GPU in service holds the model or may load it. */
  isStranded(model: number): boolean {
    return this.placesFor(model) === 0 && this.held.nextCommon(model, this.up, 0) < 0;
  }

  /** True while an INFER of the model has no result from the GPU: weights in use must stay. */
  isRunning(gpu: number, model: number): boolean {
    return this.running[gpu * this.models.length + model] > 0;
  }

  /** For the controller: adds to the number of INFERs in flight. */
  countRunning(gpu: number, model: number, change: number): void {
    this.running[gpu * this.models.length + model] += change;
  }

  /** Expected time of an INFER on a GPU at its current clock, for inputs of the longest length. */
  execNs(gpu: number, model: number, batchIndex: number): number {
    return this.nsOnClock(gpu, this.rows.longest[model] + batchIndex);
  }

  /** Expected time of an INFER on a GPU at its current clock, for inputs padded to a bucket. */
  execNsAt(gpu: number, model: number, batchIndex: number, bucket: number): number {
    return this.nsOnClock(gpu, this.rows.at(model, batchIndex, bucket));
  }

  /** Expected time of an INFER of a row of `rows` on a GPU at its current clock. */
  nsOnClock(gpu: number, row: number): number {
    const nominal = this.execOn[gpu].get(row);
    const clock = this.clock[gpu];
    return clock === 1 ? nominal : Math.floor(nominal / clock);
  }

  /** Expected time of an INFER of batch 1, padded to a bucket, at the highest clock any GPU ever reported. */
  shortestExecNs(model: number, bucket = 0): number {
    return this.atHighestClock(this.nominalExecNsAt(model, 0, bucket));
  }

  /** Lower bound of that time: the shortest measurement. One slow INFER does not raise it. */
  leastExecNs(model: number, bucket: number): number {
    const row = this.rows.at(model, 0, bucket);
    return this.atHighestClock(
      this.kindBars === null ? this.estimates[0].exec.least(row) : this.least(model, row, 'leastExec'),
    );
  }

  private atHighestClock(nominalNs: number): number {
    return this.highestClock === 1 ? nominalNs : Math.floor(nominalNs / this.highestClock);
  }

  /** Expected time of an INFER at nominal clock on the fastest kind for the model. */
  nominalExecNs(model: number, batchIndex: number): number {
    return this.fastestExecNs(model, this.rows.longest[model] + batchIndex);
  }

  /** Expected time of an INFER at nominal clock on the fastest kind, for inputs padded to a bucket. */
  nominalExecNsAt(model: number, batchIndex: number, bucket: number): number {
    return this.fastestExecNs(model, this.rows.at(model, batchIndex, bucket));
  }

  private fastestExecNs(model: number, row: number): number {
    if (this.kindBars === null) return this.estimates[0].exec.get(row);
    return this.least(model, row, 'exec');
  }

  /** Speed of the GPU on the model by its profile, relative to the fastest kind; at most 1. */
  speedOn(gpu: number, model: number): number {
    const spec = this.models[model];
    return shortestExecNs(spec) / timesOn(spec, this.kindOf[gpu]).execNs[0];
  }

  /** Expected time of a LOAD onto a GPU. */
  loadNsOn(gpu: number, model: number): number {
    return this.estimates[this.kindOf[gpu]].load.get(model);
  }

  /** Expected time of a LOAD on the fastest kind. */
  loadNs(model: number): number {
    if (this.kindBars === null) return this.estimates[0].load.get(model);
    return this.least(model, model, 'load');
  }

  /** Records the duration of a successful INFER. */
  measuredExec({ gpu, model, batchIndex, bucket, beginNs, endNs, clock }: Action): void {
    const durationNs = endNs - beginNs;
    this.clock[gpu] = clock;
    if (clock > this.highestClock) this.highestClock = clock;
    const nominalNs = clock === 1 ? durationNs : Math.round(durationNs * clock);
    const row = this.rows.at(model, batchIndex, bucket);
    this.estimates[this.kindOf[gpu]].measuredExec(model, row, nominalNs, endNs);
  }

  /** Records the duration of a successful LOAD. */
  measuredLoad({ gpu, model, beginNs, endNs }: Action): void {
    this.estimates[this.kindOf[gpu]].measuredLoad(model, endNs - beginNs, endNs);
  }

  /**
   * Forgets the model's measurements on each kind where none is recent and an INFER would take longer than `leftNs`.
   * Refused requests are never measured, so one slow INFER would otherwise shut out its model for good. Returns true if
   * there was such a kind.
   */
  forgetMeasurements(model: number, nowNs: number, leftNs = Number.NEGATIVE_INFINITY): boolean {
    const row = this.rows.longest[model];
    let forgot = false;
    for (let kind = 0; kind < this.kinds; kind++) {
      if (!this.estimates[kind].isOutdated(model, row, leftNs, nowNs)) continue;
      this.restart(this.estimates[kind], model);
      forgot = true;
    }
    return forgot;
  }

  /** Latest start of a request that still meets its deadline. May forget measurements by which it is too late. */
  latestStartNs(model: number, deadlineNs: number, nowNs: number): number {
    this.forgetMeasurements(model, nowNs, deadlineNs - nowNs);
    return deadlineNs - this.nominalExecNs(model, 0);
  }

  /** Minimum over the kinds that may hold the model and have GPUs up; if none has, over all kinds that may hold it. */
  private least(model: number, row: number, figure: 'exec' | 'leastExec' | 'load'): number {
    let leastNs = Number.POSITIVE_INFINITY;
    let awayNs = Number.POSITIVE_INFINITY;
    for (let kind = 0; kind < this.kinds; kind++) {
      if (this.kindBars?.hasKind(model, kind)) continue;
      const { exec, load } = this.estimates[kind];
      const ns = figure === 'leastExec' ? exec.least(row) : (figure === 'exec' ? exec : load).get(row);
      if (this.upOfKind[kind] > 0) leastNs = Math.min(leastNs, ns);
      else awayNs = Math.min(awayNs, ns);
    }
    return leastNs < Number.POSITIVE_INFINITY ? leastNs : awayNs;
  }

  private open(model: number): void {
    for (const estimates of this.estimates) this.restart(estimates, model);
    if (this.models[model] === NO_MODEL) this.bars.close(model);
  }

  private restart(estimates: KindEstimates, model: number): void {
    const { first, buckets } = this.rows;
    estimates.restart(model, this.models[model], first[model], buckets[model]);
  }
}

/**
 * Sends work to the lanes of all GPUs and takes results, and so keeps sets of the GPUs in service with an idle lane,
 * which would otherwise have to be asked one by one.
 */
export class Lanes {
  readonly idleExec: BitSet;
  /** Same object as `idleExec` where GPUs have one lane. */
  readonly idleWeights: BitSet;

  constructor(
    private readonly exec: readonly LaneTimeline[],
    private readonly weights: readonly LaneTimeline[],
  ) {
    this.idleExec = new BitSet(exec.length);
    this.idleWeights = weights === exec ? this.idleExec : new BitSet(exec.length);
  }

  /** Records that an INFER was sent, expected to take `durationNs`. */
  startExec(gpu: number, actionId: number, durationNs: number, nowNs: number): void {
    if (this.exec[gpu].add(actionId, durationNs, nowNs) === 1) this.idleExec.delete(gpu);
  }

  /** Records the result of an INFER. */
  endExec(gpu: number, actionId: number, endNs: number): void {
    if (this.exec[gpu].finish(actionId, endNs) === 0) this.idleExec.add(gpu);
  }

  /** Records that a LOAD was sent, expected to take `durationNs`. */
  startWeights(gpu: number, actionId: number, durationNs: number, nowNs: number): void {
    if (this.weights[gpu].add(actionId, durationNs, nowNs) === 1) this.idleWeights.delete(gpu);
  }

  endWeights(gpu: number, actionId: number, endNs: number): void {
    if (this.weights[gpu].finish(actionId, endNs) === 0) this.idleWeights.add(gpu);
  }

  /** Closes the lanes of a GPU that left, or opens them again. */
  setClosed(gpu: number, isClosed: boolean): void {
    this.exec[gpu].setClosed(isClosed);
    this.weights[gpu].setClosed(isClosed);
    note(this.idleExec, gpu, this.exec[gpu]);
    note(this.idleWeights, gpu, this.weights[gpu]);
  }
}

function note(idle: BitSet, gpu: number, lane: LaneTimeline): void {
  if (lane.outstanding === 0) idle.add(gpu);
  else idle.delete(gpu);
}
