import { type Action, INFER, LOAD, STATUS_OK } from '../../core/action.js';
import { BitMatrix } from '../../core/bit-matrix.js';
import type { Cluster } from '../../core/cluster.js';
import { type Dispatcher, type Policy, type PolicyContext, REFUSE } from '../../core/policy.js';
import type { RequestTable } from '../../core/request.js';
import { DemandPlacement } from '../common/demand-placement.js';
import { Cycle } from './cycle.js';
import { dropEarly } from './early-drop.js';
import { Latencies } from './latencies.js';
import { pack } from './packing.js';
import { PlanLoader } from './plan-loader.js';
import { type Session, Sessions } from './sessions.js';

export interface NexusOptions {
  readonly maxBatch: number;
  /** From one plan to the next. */
  readonly epochNs: number;
}

const NEVER = Number.POSITIVE_INFINITY;
const NONE = -1;
/** The first plan is made after this part of an epoch: until then nothing is known of rates. */
const FIRST_EPOCH = 0.1;

/**
 * Plans of duty cycles as in Nexus ("Nexus: A GPU Cluster Engine for Accelerating DNN-Based Video Analysis", Shen et
 * al., SOSP 2019): requests for a model with an objective are a session; every epoch the sessions' rates are packed
 * onto GPUs (`pack`), and each GPU runs its sessions' batches in turn, at the planned size, dropping early what would
 * spoil them (`dropEarly`). A session without requests loses its turn, and the next does not wait for its time in the
 * cycle. What is dropped is answered `timeout` at its deadline.
 *
 * Simplified: a session has one queue, not one at each of its GPUs behind a router. Objectives that differ by less
 * than a fifth share a session, which is planned for the tightest. Plans begin with the first event of a new epoch.
 * Until then a session that has requests but no warm place joins the shortest cycle of a GPU that holds its model; a
 * model that is nowhere is loaded on the GPU with most room. Prefix batching and query graphs are left out, and a
 * batch is sent when the one before is answered, so that the way to the GPU adds to every batch. GPUs that a plan does
 * not need stand idle, as there.
 */
export class NexusPolicy implements Policy {
  readonly name = 'nexus';
  private readonly cluster: Cluster;
  private readonly requests: RequestTable;
  private readonly dispatch: Dispatcher;
  private readonly epochNs: number;
  private readonly latencies: Latencies;
  private readonly sessions: Sessions;
  private readonly cycles: readonly Cycle[];
  private readonly placement: DemandPlacement;
  private readonly loader: PlanLoader;
  /** When the present epoch began, and when it ends. */
  private epochBeginNs = 0;
  private replanNs = NEVER;
  /** Row 0: GPUs that may be free and have work. */
  private readonly idle: BitMatrix;
  /** Model that each GPU runs, −1 if none. */
  private readonly running: Int32Array;
  /** By GPU: the least that a batch ever took beyond its execution. An average could drop everything, and so never fall. */
  private readonly overheadNs: Float64Array;
  private readonly batch: Int32Array;

  constructor(context: PolicyContext, options: NexusOptions) {
    const { cluster, dispatch } = context;
    this.cluster = cluster;
    this.requests = context.requests;
    this.dispatch = dispatch;
    this.epochNs = options.epochNs;
    this.latencies = new Latencies(cluster.models, options.maxBatch);
    this.sessions = new Sessions(cluster.models.length);
    this.cycles = Array.from({ length: cluster.gpus }, () => new Cycle());
    this.running = new Int32Array(cluster.gpus).fill(NONE);
    this.placement = new DemandPlacement(cluster, dispatch, (model) => this.queued(model), this.running);
    this.loader = new PlanLoader(cluster, dispatch, this.running, (model) => this.seekPlaces(model));
    this.idle = new BitMatrix(1, cluster.gpus);
    this.overheadNs = new Float64Array(cluster.gpus).fill(NEVER);
    this.batch = new Int32Array(cluster.maxBatch);
  }

  admit(slot: number, nowNs: number): number {
    const { requests } = this;
    const model = requests.model[slot];
    const sloNs = requests.sloNs[slot];
    if (this.latencies.execNs(model, 1) > sloNs) return REFUSE;
    if (this.replanNs === NEVER) {
      this.epochBeginNs = nowNs;
      this.replanNs = nowNs + this.epochNs * FIRST_EPOCH;
    }
    const session = this.sessions.of(model, sloNs);
    const deadlineNs = requests.arrivalNs[slot] + sloNs;
    session.arrivals++;
    session.queue.push(slot, deadlineNs);
    this.seekPlace(session);
    return deadlineNs;
  }

  timedOut(slot: number): void {
    const session = this.sessions.of(this.requests.model[slot], this.requests.sloNs[slot]);
    session.queue.remove(slot);
  }

  finished(action: Action, nowNs: number): void {
    const { gpu, model } = action;
    if (action.kind === INFER) {
      this.running[gpu] = NONE;
      this.idle.add(0, gpu);
      if (action.status === STATUS_OK) {
        const overheadNs = nowNs - action.sentNs - (action.endNs - action.beginNs);
        this.overheadNs[gpu] = Math.min(this.overheadNs[gpu], overheadNs);
      }
    } else if (action.kind === LOAD) {
      if (action.status === STATUS_OK) this.weightsFound(gpu, model);
      else this.seekPlaces(model);
      // On one lane, INFERs had to wait for it.
      this.idle.add(0, gpu);
    }
  }

  weightsLost(gpu: number, model: number): void {
    this.cluster.recency.remove(gpu, model);
    this.seekPlaces(model);
  }

  weightsFound(gpu: number, model: number): void {
    this.placement.loaded(gpu, model);
    this.idle.add(0, gpu);
    this.seekPlaces(model);
  }

  lanesChanged(gpu: number): void {
    this.idle.add(0, gpu);
  }

  schedule(nowNs: number): void {
    if (nowNs >= this.replanNs) this.replan(nowNs);
    this.placement.schedule(nowNs);
    this.loader.schedule(nowNs);
    for (let gpu = this.idle.next(0, 0); gpu >= 0; gpu = this.idle.next(0, gpu + 1)) {
      this.serve(gpu, nowNs);
      this.idle.delete(0, gpu);
    }
  }

  /** A plan is due when requests come, and they call by themselves. */
  nextWakeNs(): number {
    return NEVER;
  }

  queued(model: number): number {
    return this.sessions.queued(model);
  }

  private replan(nowNs: number): void {
    const { cluster, sessions, cycles } = this;
    const loads = sessions.loads(nowNs - this.epochBeginNs);
    this.epochBeginNs = nowNs;
    this.replanNs = nowNs + this.epochNs;
    const gpus = cycles.map((_, gpu) => gpu).filter((gpu) => !cluster.exec[gpu].isClosed);
    const plan = pack(loads, {
      latencies: this.latencies,
      gpus: gpus.length,
      pages: cluster.pages[0].capacity,
      modelPages: cluster.models.map(({ pages }) => pages),
    });
    for (const cycle of cycles) cycle.clear();
    for (const session of sessions.all) session.places.length = 0;
    const places = this.loader.adopt(plan, gpus);
    for (const [i, { turns }] of plan.entries()) {
      for (const { load, batch } of turns) this.join(places[i], sessions.all[load.session], batch);
    }
    for (const session of sessions.all) {
      if (session.queue.length > 0) this.seekPlace(session);
    }
  }

  private join(gpu: number, session: Session, batch: number): void {
    this.cycles[gpu].join(session, batch);
    session.places.push(gpu);
    this.idle.add(0, gpu);
  }

  /** Sees to all sessions of the model that have requests. */
  private seekPlaces(model: number): void {
    for (const session of this.sessions.ofModel(model)) {
      if (session.queue.length > 0) this.seekPlace(session);
    }
  }

  /** The session has requests: makes sure that they will be served, at once where a GPU of its own is free. */
  private seekPlace(session: Session): void {
    const { warm, exec } = this.cluster;
    const { model, places } = session;
    let isWarm = false;
    for (let i = 0; i < places.length; i++) {
      const gpu = places[i];
      if (!warm.has(model, gpu)) continue;
      isWarm = true;
      if (exec[gpu].outstanding === 0) this.idle.add(0, gpu);
    }
    if (isWarm) return;
    const gpu = this.shortestCycle(model);
    if (gpu >= 0) this.join(gpu, session, this.latencies.saturating(model, session.sloNs));
    else this.placement.want(model);
  }

  /** GPU with the fewest sessions among those where the model is warm, −1 if there is none. */
  private shortestCycle(model: number): number {
    const { warm } = this.cluster;
    let best = NONE;
    for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) {
      if (best < 0 || this.cycles[gpu].length < this.cycles[best].length) best = gpu;
    }
    return best;
  }

  /** If the GPU is free it runs a batch of the next session in its cycle that has one. */
  private serve(gpu: number, nowNs: number): void {
    if (this.cluster.exec[gpu].outstanding > 0) return;
    const cycle = this.cycles[gpu];
    const overheadNs = this.overheadNs[gpu] === NEVER ? 0 : this.overheadNs[gpu];
    for (let left = cycle.length; left > 0; left--) {
      const { session, batch } = cycle.advance();
      const { queue, model } = session;
      if (queue.length === 0 || !this.cluster.warm.has(model, gpu)) continue;
      const count = dropEarly(queue, model, batch, nowNs + overheadNs, this.latencies);
      if (count === 0) continue;
      this.run(gpu, session, count, nowNs);
      return;
    }
  }

  private run(gpu: number, { queue, model }: Session, count: number, nowNs: number): void {
    queue.take(0, count, this.batch);
    const batchIndex = this.latencies.sizeIndex(model, count);
    this.dispatch.infer(gpu, model, batchIndex, this.batch, count, nowNs, NEVER, nowNs);
    this.running[gpu] = model;
    this.cluster.recency.touch(gpu, model);
  }
}
