import { type Action, STATUS_OK } from '../../core/action.js';
import { type PolicyContext, REFUSE } from '../../core/policy.js';
import type { DeadlineQueue } from '../common/deadline-queue.js';
import { OneBatchAtATime } from '../common/one-batch-at-a-time.js';
import { Latencies } from './latencies.js';
import { pack } from './packing.js';
import { PlanLoader } from './plan-loader.js';
import { type Session, Sessions } from './sessions.js';

interface NexusOptions {
  readonly maxBatch: number;
  /** Interval between plans. */
  readonly epochNs: number;
}

const NEVER = Number.POSITIVE_INFINITY;
/** Part of an epoch after which the first plan is made: no rates are known before. */
const FIRST_EPOCH = 0.1;

/**
 * Planned duty cycles as in Nexus ("Nexus: A GPU Cluster Engine for Accelerating DNN-Based Video Analysis", Shen et
 * al., SOSP 2019): requests for a model with an SLO are a session; every epoch the sessions' rates are packed onto GPUs
 * (`pack`), and each GPU runs its sessions' batches in turn, at the planned size, dropping requests early that would
 * spoil them (`dropEarly`). A session without requests loses its turn, and the next does not wait for its time in the
 * cycle. Dropped requests are answered `timeout` at their deadline.
 *
 * Simplified: a session has one queue, not one at each of its GPUs behind a router. SLOs that differ by less than a
 * fifth share a session, which is planned for the tightest. Plans are made at the first event of a new epoch. Until
 * then a session that has requests but no warm place joins the shortest cycle of a GPU that holds its model; a model
 * that is loaded nowhere is loaded on the GPU with most room. Prefix batching and query graphs are left out, and a
 * batch is sent when its predecessor is answered, so that the network adds to every batch. GPUs that a plan does not
 * need stand idle, as in the paper.
 */
export class NexusPolicy extends OneBatchAtATime {
  readonly name = 'nexus';
  private readonly epochNs: number;
  private readonly latencies: Latencies;
  private readonly sessions: Sessions;
  private readonly cycles: readonly Cycle[];
  private readonly loader: PlanLoader;
  /** Start and end of the current epoch. */
  private epochBeginNs = 0;
  private replanNs = NEVER;
  /** By GPU: minimum overhead of a batch beyond its execution. An average could drop everything, and so never fall. */
  private readonly overheadNs: Float64Array;

  constructor(context: PolicyContext, options: NexusOptions) {
    super(context);
    const { cluster, dispatch } = context;
    this.epochNs = options.epochNs;
    this.latencies = new Latencies(cluster.models, options.maxBatch);
    this.sessions = new Sessions(cluster.models.length);
    this.cycles = Array.from({ length: cluster.gpus }, () => new Cycle());
    this.loader = new PlanLoader(cluster, dispatch, this.placement, (model) => this.lacking(model));
    this.overheadNs = new Float64Array(cluster.gpus).fill(NEVER);
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

  protected override inferEnded({ gpu, status, sentNs, beginNs, endNs }: Action, nowNs: number): void {
    if (status !== STATUS_OK) return;
    const overheadNs = nowNs - sentNs - (endNs - beginNs);
    this.overheadNs[gpu] = Math.min(this.overheadNs[gpu], overheadNs);
  }

  override weightsFound(gpu: number, model: number, nowNs: number): void {
    super.weightsFound(gpu, model, nowNs);
    this.idle.add(gpu);
    this.lacking(model);
  }

  modelCame(model: number): void {
    this.latencies.renew(model);
  }

  modelGoes(model: number): void {
    for (const session of this.sessions.ofModel(model)) {
      for (const gpu of session.places) this.cycles[gpu].leave(session);
      session.restart();
    }
    this.loader.forget(model);
  }

  override schedule(nowNs: number): void {
    if (nowNs >= this.replanNs) this.replan(nowNs);
    this.placement.schedule(nowNs);
    this.loader.schedule(nowNs);
    this.serveIdle(nowNs);
  }

  queued(model: number): number {
    return this.sessions.queued(model);
  }

  private replan(nowNs: number): void {
    const { cluster, sessions, cycles } = this;
    const loads = sessions.loads(nowNs - this.epochBeginNs);
    this.epochBeginNs = nowNs;
    this.replanNs = nowNs + this.epochNs;
    const capacity = (gpu: number): number => cluster.pages[gpu].capacity;
    const gpus = cycles.map((_, gpu) => gpu).filter((gpu) => cluster.up.has(gpu));
    gpus.sort((a, b) => capacity(b) - capacity(a));
    const plan = pack(loads, {
      latencies: this.latencies,
      gpuPages: gpus.map(capacity),
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
    this.idle.add(gpu);
  }

  /** Finds places for all sessions of the model that have requests. */
  protected override lacking(model: number): void {
    for (const session of this.sessions.ofModel(model)) {
      if (session.queue.length > 0) this.seekPlace(session);
    }
  }

  /** Ensures that a session with requests will be served, at once if one of its GPUs is free. */
  private seekPlace(session: Session): void {
    const { warm, exec } = this.cluster;
    const { model, places } = session;
    let isWarm = false;
    for (let i = 0; i < places.length; i++) {
      const gpu = places[i];
      if (!warm.has(model, gpu)) continue;
      isWarm = true;
      if (exec[gpu].outstanding === 0) this.idle.add(gpu);
    }
    if (isWarm) return;
    const gpu = this.shortestCycle(model);
    if (gpu >= 0) this.join(gpu, session, this.latencies.saturating(model, session.sloNs));
    else this.placement.want(model);
  }

  /** GPU with the fewest sessions among those where the model is warm, or −1. */
  private shortestCycle(model: number): number {
    const { warm } = this.cluster;
    let best = -1;
    for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) {
      if (best < 0 || this.cycles[gpu].length < this.cycles[best].length) best = gpu;
    }
    return best;
  }

  /** Runs a batch of the next session in the cycle that has one, if the GPU is free. */
  protected override serve(gpu: number, nowNs: number): void {
    if (this.cluster.exec[gpu].outstanding > 0) return;
    const cycle = this.cycles[gpu];
    const overheadNs = this.overheadNs[gpu] === NEVER ? 0 : this.overheadNs[gpu];
    for (let left = cycle.length; left > 0; left--) {
      const { session, batch } = cycle.advance();
      const { queue, model } = session;
      if (queue.length === 0 || !this.cluster.warm.has(model, gpu)) continue;
      const count = dropEarly(queue, model, batch, nowNs + overheadNs, this.latencies);
      if (count === 0) continue;
      queue.take(0, count, this.batch);
      this.run(gpu, model, this.latencies.sizeIndex(model, count), count, nowNs);
      return;
    }
  }
}

/** Turn of a session, for at most `batch` of its requests. */
interface Turn {
  readonly session: Session;
  readonly batch: number;
}

/** Sessions that a GPU serves in turn. */
class Cycle {
  private readonly turns: Turn[] = [];
  private next = 0;

  get length(): number {
    return this.turns.length;
  }

  clear(): void {
    this.turns.length = 0;
    this.next = 0;
  }

  join(session: Session, batch: number): void {
    this.turns.push({ session, batch });
  }

  /** Removes the session's turn. */
  leave(session: Session): void {
    const at = this.turns.findIndex((turn) => turn.session === session);
    if (at < 0) return;
    this.turns.splice(at, 1);
    if (at < this.next) this.next--;
  }

  /** Returns the next turn; there must be one. */
  advance(): Turn {
    // Wraps around only now, so that a session that joins at the end of a round precedes those that had their turns.
    if (this.next === this.turns.length) this.next = 0;
    return this.turns[this.next++];
  }
}

/**
 * Early drop (Nexus, SOSP 2019, §4.3): slides a window of the planned batch along the queue until its first request has
 * time left for the whole window to run, and drops all before it, so that a few nearly late requests do not keep
 * batches small for ever. Returns the number of requests in the window, 0 if none can be met.
 */
export function dropEarly(
  queue: DeadlineQueue,
  model: number,
  batch: number,
  startNs: number,
  latencies: Latencies,
): number {
  while (queue.length > 0) {
    const count = Math.min(batch, queue.length);
    if (queue.deadlineNsAt(0) >= startNs + latencies.execNs(model, count)) return count;
    queue.remove(queue.slotAt(0));
  }
  return 0;
}
