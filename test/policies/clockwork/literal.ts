import { type Action, INFER, LOAD, STATUS_OK } from '../../../src/core/action.js';
import type { Policy, PolicyContext } from '../../../src/core/policy.js';
import { REQUEST_QUEUED } from '../../../src/core/request.js';
import { execSlackNs, loadSlackNs } from '../../../src/policies/clockwork/deadlines.js';
import type { ClockworkOptions } from '../../../src/policies/clockwork/policy.js';
import { LiteralDemand } from '../../core/literal-demand.js';

const MS = 1_000_000;

/** The published scheduler knows no schedule_ahead but a given one. */
interface LiteralOptions extends ClockworkOptions {
  readonly scheduleAheadNs: number;
  /**
   * An arrival activates its model on every GPU, as in the published scheduler. Ours looks only where the model is warm, so
   * that an arrival costs nothing on GPUs that lack it: a finished LOAD then starts from the requests that wait, not from
   * those that waited when its GPU was last busy.
   */
  readonly everyInstance: boolean;
}

interface Waiting {
  readonly slot: number;
  readonly id: number;
  readonly dueNs: number;
}

interface Candidate {
  readonly priority: number;
  readonly batchIndex: number;
  readonly model: number;
}

/**
 * The published scheduler's two selections written down as their description reads, with lists that are sorted
 * or searched whenever something is wanted from them. Slow, and meant to be compared with: what the fast one
 * decides must be the same. It shares no code with it but the two deadlines of a request.
 */
export class LiteralClockwork implements Policy {
  readonly name = 'literal';
  private readonly capacity: number;
  private readonly demand: LiteralDemand;
  /** By model, by batch size. */
  private readonly queues: Waiting[][][];
  private readonly usable: number[];
  private readonly candidates: Candidate[][];
  private readonly active: Set<number>[];
  private readonly fresh: number[][];
  /** When each model was last used on each GPU, as a sequence number. */
  private readonly used: number[][];
  private sequence: number;
  /** Models with demand, and their load priority when it was last looked at. */
  private readonly priorities = new Map<number, number>();
  /** (GPU, model) for which no room was found since demand was last refreshed. */
  private givenUp: (readonly [number, number])[] = [];
  /** When each GPU last refused a LOAD in the very instant it was sent. */
  private readonly refusedNs: number[];
  private loadTurn = 0;
  private inferTurn = 0;

  constructor(
    private readonly context: PolicyContext,
    private readonly options: LiteralOptions,
  ) {
    const { cluster, defaultSloNs } = context;
    const { models, gpus } = cluster;
    this.capacity = defaultSloNs;
    this.demand = new LiteralDemand(gpus, models.length, defaultSloNs);
    this.usable = models.map(({ batchSizes, execNs }) => {
      const over = batchSizes.findIndex(
        (size, b) => size > options.maxBatch || execNs[b] > options.maxExecNs,
      );
      return Math.max(1, over < 0 ? batchSizes.length : over);
    });
    this.queues = models.map((_, m) => Array.from({ length: this.usable[m] }, () => []));
    const perGpu = <T>(make: (gpu: number) => T): T[] => Array.from({ length: gpus }, (_, gpu) => make(gpu));
    this.candidates = perGpu(() => []);
    this.refusedNs = perGpu(() => -1);
    this.active = perGpu(() => new Set());
    this.fresh = perGpu(() => []);
    this.used = perGpu((gpu) => models.map((_, model) => model * gpus + gpu));
    this.sequence = gpus * models.length;
  }

  admit(slot: number): number {
    const { requests, cluster } = this.context;
    const model = requests.model[slot];
    const sloNs = requests.sloNs[slot];
    const aheadNs = this.options.scheduleAheadNs;
    const execNs = cluster.nominalExecNs(model, 0);
    const slackNs = execSlackNs(sloNs, aheadNs);
    const loadWithinNs = loadSlackNs(sloNs, aheadNs, cluster.loadNs(model), execNs);
    requests.execDemand[slot] = Math.floor((execNs * this.capacity) / slackNs);
    requests.loadDemand[slot] = Math.floor((execNs * this.capacity) / loadWithinNs);
    this.demand.arrived(model, requests.execDemand[slot], requests.loadDemand[slot], loadWithinNs);
    const dueNs = requests.arrivalNs[slot] + slackNs;
    for (const queue of this.queues[model]) queue.push({ slot, id: requests.id[slot], dueNs });
    for (let gpu = 0; gpu < cluster.gpus; gpu++)
      if (this.options.everyInstance || cluster.warm.has(model, gpu)) this.activate(gpu, model);
    return dueNs;
  }

  timedOut(slot: number): void {
    const { requests } = this.context;
    this.demand.change(requests.model[slot], -requests.execDemand[slot], -requests.loadDemand[slot]);
  }

  finished(action: Action, nowNs: number): void {
    const { gpu, model } = action;
    if (action.kind === INFER) {
      const slots = action.requests.subarray(0, action.count);
      for (const slot of slots) this.demand.change(model, -this.context.requests.execDemand[slot], 0);
      this.touch(gpu, model);
    } else if (action.kind === LOAD) {
      if (action.status !== STATUS_OK) {
        this.demand.moved(model, gpu, -1);
        if (action.sentNs === nowNs) this.refusedNs[gpu] = nowNs;
        return;
      }
      this.touch(gpu, model);
      this.demand.change(model, 0, 0);
      this.activate(gpu, model);
    }
  }

  /** Passes until one does nothing. */
  schedule(nowNs: number): void {
    for (let busy = true; busy; ) {
      for (const [gpu, model] of this.givenUp.splice(0)) this.demand.moved(model, gpu, -1);
      this.demand.refresh(nowNs);
      busy = false;
      for (let refusals = 0; refusals < this.context.cluster.gpus; refusals++) {
        if (this.tryLoad(this.loadTurn, nowNs)) [busy, refusals] = [true, -1];
        this.loadTurn = (this.loadTurn + 1) % this.context.cluster.gpus;
      }
      for (let refusals = 0; refusals < this.context.cluster.gpus; refusals++) {
        if (this.tryInfer(this.inferTurn, nowNs)) [busy, refusals] = [true, -1];
        this.inferTurn = (this.inferTurn + 1) % this.context.cluster.gpus;
      }
    }
  }

  weightsLost(): void {
    throw new Error('no GPU goes in these tests');
  }

  weightsFound(): void {
    throw new Error('no GPU comes in these tests');
  }

  lanesChanged(): void {
    throw new Error('no GPU goes in these tests');
  }

  nextWakeNs(): number {
    return Number.POSITIVE_INFINITY;
  }

  /** Never quiet: it is asked at every due time. */
  quietUntilNs(nowNs: number): number {
    return nowNs;
  }

  queued(model: number): number {
    return this.queues[model][0].length;
  }

  private tryLoad(gpu: number, nowNs: number): boolean {
    const { cluster, dispatch } = this.context;
    const { models, pages, weights } = cluster;
    const { scheduleAheadNs, latestDeltaNs } = this.options;
    if (weights[gpu].availableNs(nowNs) - nowNs >= scheduleAheadNs) return false;
    this.renewPriorities();
    const used = this.used[gpu];
    const [model] = [...this.priorities.keys()]
      .filter((m) => !this.demand.holders[m].has(gpu))
      .sort((a, b) => this.priority(b) - this.priority(a) || used[b] - used[a]);
    // Beyond the published rules, which know of no GPU that answers in no time.
    if (model === undefined || this.refusedNs[gpu] === nowNs) return false;
    this.touch(gpu, model);
    this.demand.moveNow(model, gpu, 1);
    while (pages[gpu].free < models[model].pages) {
      if (this.evict(gpu, nowNs)) continue;
      this.givenUp.push([gpu, model]);
      return false;
    }
    const availableNs = weights[gpu].availableNs(nowNs);
    dispatch.load(gpu, model, nowNs, Math.max(nowNs + MS, availableNs) + latestDeltaNs, nowNs);
    return true;
  }

  private evict(gpu: number, nowNs: number): boolean {
    this.renewPriorities();
    const { models, warm } = this.context.cluster;
    const used = this.used[gpu];
    const victim = models
      .map((_, m) => m)
      .filter((m) => warm.has(m, gpu))
      .sort((a, b) => Number(this.priorities.has(b)) - Number(this.priorities.has(a)) || used[b] - used[a])
      .at(-1);
    if (victim === undefined) return false;
    this.context.dispatch.unload(gpu, victim, nowNs);
    this.demand.moveNow(victim, gpu, -1);
    return true;
  }

  private renewPriorities(): void {
    for (const model of this.demand.stale) {
      if (this.demand.hasDemand(model)) this.priorities.set(model, this.demand.loadPriority(model));
      else this.priorities.delete(model);
    }
    this.demand.stale.clear();
  }

  private priority(model: number): number {
    return this.priorities.get(model) as number;
  }

  private tryInfer(gpu: number, nowNs: number): boolean {
    const { cluster } = this.context;
    for (const model of this.fresh[gpu].splice(0)) this.makeCandidates(gpu, model, this.usable[model]);
    const availableNs = cluster.exec[gpu].availableNs(nowNs);
    if (availableNs - nowNs >= this.options.scheduleAheadNs) return false;
    while (this.candidates[gpu].length > 0) {
      this.candidates[gpu].sort(
        (a, b) => a.priority - b.priority || a.batchIndex - b.batchIndex || a.model - b.model,
      );
      const { model, batchIndex: wanted } = this.candidates[gpu][0];
      this.candidates[gpu] = this.candidates[gpu].filter((candidate) => candidate.model !== model);
      if (!cluster.warm.has(model, gpu)) this.active[gpu].delete(model);
      else if (this.dequeue(gpu, model, wanted, availableNs, nowNs)) return true;
      else this.makeCandidates(gpu, model, wanted);
    }
    return false;
  }

  private dequeue(gpu: number, model: number, wanted: number, availableNs: number, nowNs: number): boolean {
    const { cluster, requests, dispatch } = this.context;
    const { batchSizes } = cluster.models[model];
    const queues = this.queues[model];
    for (const [b, queue] of queues.entries()) {
      while (queue.length > 0 && queue[0].dueNs < availableNs + cluster.execNs(gpu, model, b)) queue.shift();
    }
    let found = 0;
    while (found + 1 < queues.length && queues[found + 1].length >= batchSizes[found + 1]) found++;
    if (found < wanted || queues[found].length < batchSizes[found]) return false;
    const slots: number[] = [];
    let last = -1;
    while (slots.length < batchSizes[found] && queues[found].length > 0) {
      const { slot, id } = queues[found].shift() as Waiting;
      last = id;
      if (requests.id[slot] === id && requests.state[slot] === REQUEST_QUEUED) slots.push(slot);
    }
    for (const queue of queues) while (queue.length > 0 && queue[0].id <= last) queue.shift();
    if (slots.length === 0) return false;
    const batchIndex = batchSizes.findIndex((size) => size >= slots.length);
    const latestNs = availableNs + this.options.latestDeltaNs;
    dispatch.infer({
      gpu,
      model,
      batchIndex,
      slots: Int32Array.from(slots),
      count: slots.length,
      earliestNs: nowNs,
      latestNs,
      nowNs,
    });
    for (const slot of slots) this.demand.change(model, 0, -requests.loadDemand[slot]);
    this.touch(gpu, model);
    this.makeCandidates(gpu, model, this.usable[model]);
    return true;
  }

  private makeCandidates(gpu: number, model: number, sizes: number): void {
    let made = 0;
    for (let b = 0; b < sizes; b++) {
      if (this.queues[model][b].length === 0) continue;
      const priority = this.queues[model][b][0].dueNs - this.context.cluster.execNs(gpu, model, b);
      this.candidates[gpu].push({ priority, batchIndex: b, model });
      made++;
    }
    if (made === 0) this.active[gpu].delete(model);
  }

  private activate(gpu: number, model: number): void {
    if (this.active[gpu].has(model)) return;
    this.active[gpu].add(model);
    this.fresh[gpu].push(model);
  }

  private touch(gpu: number, model: number): void {
    this.used[gpu][model] = this.sequence++;
  }
}
