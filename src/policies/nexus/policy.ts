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
  /** From one plan to the next. */
  readonly epochNs: number;
}

const NEVER = Number.POSITIVE_INFINITY;
/** The first plan is made after this part of an epoch: until then nothing is known of rates. */
const FIRST_EPOCH = 0.1;

/**
 * Plans of duty cycles as in Nexus ("Nexus: A GPU Cluster Engine for Accelerating DNN-Based Video Analysis", Shen et
 * al., SOSP 2019): requests for a model with an SLO are a session; every epoch the sessions' rates are packed
 * onto GPUs (`pack`), and each GPU runs its sessions' batches in turn, at the planned size, dropping early what would
 * spoil them (`dropEarly`). A session without requests loses its turn, and the next does not wait for its time in the
 * cycle. What is dropped is answered `timeout` at its deadline.
 *
 * Simplified: a session has one queue, not one at each of its GPUs behind a router. SLOs that differ by less
 * than a fifth share a session, which is planned for the tightest. Plans begin with the first event of a new epoch.
 * Until then a session that has requests but no warm place joins the shortest cycle of a GPU that holds its model; a
 * model that is nowhere is loaded on the GPU with most room. Prefix batching and query graphs are left out, and a
 * batch is sent when the one before is answered, so that the way to the GPU adds to every batch. GPUs that a plan does
 * not need stand idle, as there.
 */
export class NexusPolicy extends OneBatchAtATime {
  readonly name = 'nexus';
  private readonly epochNs: number;
  private readonly latencies: Latencies;
  private readonly sessions: Sessions;
  private readonly cycles: readonly Cycle[];
  private readonly loader: PlanLoader;
  /** When the present epoch began, and when it ends. */
  private epochBeginNs = 0;
  private replanNs = NEVER;
  /** By GPU: the least that a batch ever took beyond its execution. An average could drop everything, and so never fall. */
  private readonly overheadNs: Float64Array;

  constructor(context: PolicyContext, options: NexusOptions) {
    super(context);
    const { cluster, dispatch } = context;
    this.epochNs = options.epochNs;
    this.latencies = new Latencies(cluster.models, options.maxBatch);
    this.sessions = new Sessions(cluster.models.length);
    this.cycles = Array.from({ length: cluster.gpus }, () => new Cycle());
    this.loader = new PlanLoader(cluster, dispatch, (model) => this.lacking(model));
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
    const gpus = cycles.map((_, gpu) => gpu).filter((gpu) => cluster.up.has(gpu));
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
    this.idle.add(gpu);
  }

  /** Sees to all sessions of the model that have requests. */
  protected override lacking(model: number): void {
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
      if (exec[gpu].outstanding === 0) this.idle.add(gpu);
    }
    if (isWarm) return;
    const gpu = this.shortestCycle(model);
    if (gpu >= 0) this.join(gpu, session, this.latencies.saturating(model, session.sloNs));
    else this.placement.want(model);
  }

  /** GPU with the fewest sessions among those where the model is warm, −1 if there is none. */
  private shortestCycle(model: number): number {
    const { warm } = this.cluster;
    let best = -1;
    for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) {
      if (best < 0 || this.cycles[gpu].length < this.cycles[best].length) best = gpu;
    }
    return best;
  }

  /** If the GPU is free it runs a batch of the next session in its cycle that has one. */
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

/** A session's turn: at most `batch` requests of it. */
interface Turn {
  readonly session: Session;
  readonly batch: number;
}

/** The sessions that a GPU serves in turn. */
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

  /** The session has no turn any more. */
  leave(session: Session): void {
    const at = this.turns.findIndex((turn) => turn.session === session);
    if (at < 0) return;
    this.turns.splice(at, 1);
    if (at < this.next) this.next--;
  }

  /** The next turn; there must be one. */
  advance(): Turn {
    // Only now, so that who joins at the end of a round comes before those who had their turns.
    if (this.next === this.turns.length) this.next = 0;
    return this.turns[this.next++];
  }
}

/**
 * Early drop (Nexus, SOSP 2019, §4.3): slides a window of the planned batch along the queue until its first
 * request has time left for the whole window to run, and drops all before it, so that a few requests that are nearly
 * late do not keep batches small for ever. Returns how many requests the window holds, 0 if none can be met.
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
