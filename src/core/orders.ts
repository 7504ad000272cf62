import { grown } from '../base/grown.js';
import { invariant } from '../base/invariant.js';
import { ABORT, Action, type ActionKind, INFER, LOAD, STATUS_PENDING, UNLOAD } from './action.js';
import type { Cluster } from './cluster.js';
import type { Digest } from './digest.js';
import type { RunObserver } from './observer.js';
import type { Dispatcher, InferOrder } from './policy.js';
import { REQUEST_IN_ACTION, REQUEST_QUEUED, type RequestTable } from './request.js';
import type { WindowSlack } from './window-slack.js';

interface OrdersOutlet {
  readonly port: { send(action: Action, nowNs: number): void };
  readonly observer?: RunObserver;
}

/** Turns a policy's decisions into actions: books them in the cluster, adds them to the digest, and sends them. */
export class Orders implements Dispatcher {
  private readonly pool: Action[] = [];
  private nextActionId = 0;
  /** By model: actions without a result. */
  private pending: Int32Array;

  constructor(
    private readonly cluster: Cluster,
    private readonly requests: RequestTable,
    private readonly decisions: Digest,
    /** Receives actions, and observes them leave. */
    private readonly outlet: OrdersOutlet,
    private readonly slack: WindowSlack,
  ) {
    this.pending = new Int32Array(cluster.models.length);
  }

  /** True if an action of the model has no result yet. */
  isPending(model: number): boolean {
    return this.pending[model] > 0;
  }

  /** True if every action but an abort has a result. */
  get isIdle(): boolean {
    return this.pending.every((actions) => actions === 0);
  }

  /** Call after the cluster got more slots. */
  grow(): void {
    this.pending = grown(this.pending, this.cluster.models.length);
  }

  infer({ gpu, model, batchIndex, slots, count, earliestNs, latestNs, nowNs }: InferOrder): number {
    invariant(this.cluster.warm.has(model, gpu), 'INFER goes to a GPU that holds the model');
    const action = this.newAction(INFER, gpu, model, nowNs);
    action.batchIndex = batchIndex;
    action.batchSize = this.cluster.models[model].batchSizes[batchIndex];
    invariant(count > 0 && count <= action.batchSize, 'a batch is neither empty nor over its size');
    const { requests } = this;
    for (let i = 0; i < count; i++) {
      const slot = slots[i];
      invariant(requests.state[slot] === REQUEST_QUEUED, 'a request is in one action at a time');
      requests.state[slot] = REQUEST_IN_ACTION;
      action.requests[i] = slot;
      this.decisions.add(requests.id[slot]);
    }
    action.count = count;
    if (this.cluster.rows.takesLengths[model] === 1) action.bucket = this.longestBucket(action);
    const timeline = this.cluster.exec[gpu];
    const durationNs = this.cluster.execNsAt(gpu, model, batchIndex, action.bucket);
    const slackNs = this.slack.get(gpu);
    if (slackNs > 0) action.slackNs = Math.min(slackNs, this.usefulSlackNs(action, durationNs, latestNs));
    this.book(action, timeline.availableNs(nowNs), durationNs, earliestNs, latestNs);
    this.cluster.lanes.startExec(gpu, action.id, durationNs, nowNs);
    this.cluster.countRunning(gpu, model, 1);
    this.send(action, nowNs);
    return action.id;
  }

  load(gpu: number, model: number, earliestNs: number, latestNs: number, nowNs: number): number {
    invariant(this.cluster.hasModel(model), 'LOAD is of a model that is there');
    invariant(!this.cluster.bars.isAbsent(model, gpu), 'LOAD goes to a GPU whose worker has the model');
    invariant(this.cluster.held.add(model, gpu), 'LOAD goes to a GPU that lacks the model');
    this.cluster.pages[gpu].take(this.cluster.models[model].pages);
    const action = this.newAction(LOAD, gpu, model, nowNs);
    const timeline = this.cluster.weights[gpu];
    const durationNs = this.cluster.loadNsOn(gpu, model);
    action.slackNs = this.slack.get(gpu);
    this.book(action, timeline.availableNs(nowNs), durationNs, earliestNs, latestNs);
    this.cluster.lanes.startWeights(gpu, action.id, durationNs, nowNs);
    this.send(action, nowNs);
    return action.id;
  }

  unload(gpu: number, model: number, nowNs: number): void {
    invariant(this.cluster.warm.delete(model, gpu), 'UNLOAD goes to a GPU where the model is warm');
    this.cluster.held.delete(model, gpu);
    this.cluster.pages[gpu].release(this.cluster.models[model].pages);
    const action = this.newAction(UNLOAD, gpu, model, nowNs);
    // Earliest 0 sorts it before any LOAD that waits for the pages it frees.
    this.book(action, 0, 0, 0, Number.POSITIVE_INFINITY);
    this.send(action, nowNs);
  }

  abort(gpu: number, nowNs: number): void {
    const action = this.newAction(ABORT, gpu, 0, nowNs);
    // Distinguishes its hash from that of a LOAD on the next GPU.
    action.batchSize = 0;
    this.book(action, 0, 0, 0, Number.POSITIVE_INFINITY);
    this.send(action, nowNs);
  }

  /** Call after the action's result was handled: the object may be reused. */
  recycle(action: Action): void {
    if (action.kind !== ABORT) this.pending[action.model]--;
    this.pool.push(action);
  }

  /** Bucket to which the inputs of a batch are padded. */
  private longestBucket({ requests: slots, count }: Action): number {
    let bucket = 0;
    for (let i = 0; i < count; i++) bucket = Math.max(bucket, this.requests.bucket[slots[i]]);
    return bucket;
  }

  /** Slack beyond which an INFER can no longer serve any of its requests in time. */
  private usefulSlackNs({ requests: slots, count }: Action, durationNs: number, latestNs: number): number {
    const { arrivalNs, sloNs } = this.requests;
    let lastDeadlineNs = 0;
    for (let i = 0; i < count; i++)
      lastDeadlineNs = Math.max(lastDeadlineNs, arrivalNs[slots[i]] + sloNs[slots[i]]);
    return Math.max(0, lastDeadlineNs - durationNs - latestNs);
  }

  private send(action: Action, nowNs: number): void {
    this.outlet.observer?.decided?.(action, nowNs);
    this.outlet.port.send(action, nowNs);
  }

  private newAction(kind: ActionKind, gpu: number, model: number, nowNs: number): Action {
    const action = this.pool.pop() ?? new Action(this.cluster.maxBatch);
    action.id = this.nextActionId++;
    action.kind = kind;
    action.gpu = gpu;
    action.model = model;
    action.batchIndex = 0;
    action.batchSize = 1;
    action.bucket = 0;
    action.count = 0;
    action.sentNs = nowNs;
    action.status = STATUS_PENDING;
    action.slackNs = 0;
    if (kind !== ABORT) this.pending[model]++;
    return action;
  }

  private book(
    action: Action,
    startNs: number,
    durationNs: number,
    earliestNs: number,
    latestNs: number,
  ): void {
    action.expectedDurationNs = durationNs;
    action.expectedEndNs = startNs + durationNs;
    action.earliestNs = earliestNs;
    action.latestNs = latestNs + action.slackNs;
    const { decisions } = this;
    decisions.add(action.sentNs);
    decisions.add((action.gpu * 3 + action.kind) * 4096 + action.batchSize);
    decisions.add(action.model);
    decisions.add(earliestNs);
    decisions.add(action.latestNs);
  }
}
