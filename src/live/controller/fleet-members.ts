import type { ResultMessage, WorkerDescription, WorkerState } from '../messages.js';
import type { ServedModel } from '../model.js';
import { WORKER_SHUTS_DOWN } from '../wire/protocol.js';
import { kindIn, pagesIn, type WorkerCluster, whyNotFitting } from './cluster-of-workers.js';
import type { FleetModels } from './fleet-models.js';
import type { FleetRecording } from './fleet-recording.js';
import type { Driving } from './link/worker-link.js';
import { isConnected, type Member } from './member.js';

/** Events of a fleet, in terms of GPUs of the whole cluster. */
export interface FleetEvents {
  gpuUp(gpu: number, present: readonly number[], kind: number): void;
  gpuDown(gpu: number, reason: string): void;
  results(results: readonly ResultMessage[]): void;
  /** True when another controller drives the workers; false when it no longer does. */
  standsBy(isIt: boolean): void;
  /** Reports a model that a worker has from an earlier controller. Returns true if it stays. */
  modelFound(index: number, model: ServedModel): boolean;
  /** Reports a worker that is up, refused or down; `asAsked`: it was asked to shut down. */
  worker(name: string, up: boolean, what: string, asAsked?: boolean): void;
  /** Reports that a worker that registered itself has left for good. */
  workerLeft(name: string): void;
}

/**
 * Workers of a fleet and their state: each is contacted, accepted if it fits the cluster, goes down, comes back. A
 * dynamic worker that is down for good makes room for others.
 */
export class FleetMembers {
  readonly list: Member[] = [];
  readonly gpuNumbers = new GpuNumbers();
  /** GPUs in service. */
  readonly up = new Set<number>();
  /** Changes of members. */
  readonly changes = new Condition();
  /** True if another controller drives the workers. */
  isStandby = false;
  events: FleetEvents | null = null;
  /** True once a worker has been accepted. */
  hasDriven = false;
  private cluster: WorkerCluster | null = null;
  private models: FleetModels | null = null;
  /** Clock of the controller; null before connecting. */
  private nowNs: (() => number) | null = null;
  /** Links of departed dynamic workers, still closing. */
  private readonly closing = new Set<Promise<void>>();

  constructor(
    /** Limit on GPUs with dynamic workers; null: there are none. */
    private readonly maxGpus: number | null,
    private readonly recording: FleetRecording,
    /** Called when a worker has come up. */
    private readonly workerCameUp: () => void,
  ) {}

  /** Number of GPUs for which there is room. */
  get room(): number {
    return this.cluster === null ? (this.maxGpus ?? 0) : this.gpuNumbers.free;
  }

  add(member: Member): void {
    this.list.push(member);
    if (this.nowNs !== null) this.connect(member, this.nowNs);
  }

  /** Connects to all workers, including later ones. */
  start(nowNs: () => number): void {
    this.nowNs = nowNs;
    for (const member of this.list) this.connect(member, nowNs);
  }

  /** Lets the cluster decide which workers are accepted. Those it was made of keep their GPU numbers. */
  found(cluster: WorkerCluster, models: FleetModels): void {
    this.cluster = cluster;
    for (const member of this.list)
      if (member.description !== null) member.kind = Math.max(0, kindIn(cluster, member.description));
    this.models = models;
    for (const member of [...this.list])
      if (member.gpuNumbers.length === 0 && member.description !== null)
        this.admit(member, member.description);
  }

  /** Starts notifying `events`, first of the current state. */
  begin(events: FleetEvents): void {
    this.events = events;
    for (const member of [...this.list]) if (member.state !== null) this.adopt(member, member.state);
  }

  /** Removes the dynamic worker for good: at once for this reason, or, with null, when it is down. */
  dismiss(member: Member, reason: string | null): void {
    member.isLeaving = true;
    if (!isConnected(member)) this.discard(member);
    else if (reason !== null && member.state === null && !member.isAligning) this.discard(member);
    // Returns its work in progress.
    else if (reason !== null) member.link.restart(reason, null);
  }

  async close(): Promise<void> {
    this.events = null;
    for (const member of this.list) {
      member.state = null;
      member.life++;
    }
    await Promise.all([...this.list.map(({ link }) => link.close()), ...this.closing]);
  }

  private connect(member: Member, nowNs: () => number): void {
    member.link.start(
      {
        met: (description) => this.met(member, description),
        driven: (by) => this.driven(member, by),
        up: (description, state) => this.cameUp(member, description, state),
        results: (results) => this.passOn(member, results),
        down: (reason, gpu) => this.wentDown(member, reason, gpu),
      },
      nowNs,
    );
  }

  /** Handles the description of a member with GPU numbers, or of one that decides what others must be. */
  private met(member: Member, description: WorkerDescription): void {
    this.name(member, description);
    if (this.cluster !== null && member.gpuNumbers.length > 0) return;
    if (this.admit(member, description)) member.description = description;
  }

  private driven(member: Member, by: Driving): void {
    member.drivenBy = by;
    if (member.isLeaving && !isConnected(member)) this.discard(member);
    this.changed();
  }

  private cameUp(member: Member, description: WorkerDescription, state: WorkerState): void {
    if (member.isLeaving || !this.admit(member, description)) return;
    this.name(member, description);
    member.description = description;
    member.state = state;
    if (this.events !== null) this.adopt(member, state);
    this.changes.check();
  }

  /** Names the member. Two links to one worker would compete for its leader lease: the static one stays. */
  private name(member: Member, { instance = '' }: WorkerDescription): void {
    member.instance = instance;
    if (member.isDynamic || instance === '') return;
    for (const twin of this.list.filter((each) => each.isDynamic && each.instance === instance)) {
      twin.problem = `it is worker ${member.link.name}, which is known from the start`;
      this.dismiss(twin, twin.problem);
    }
  }

  /** True if the worker fits the cluster, and its GPUs have numbers. A dynamic worker that does not fit is dismissed. */
  private admit(member: Member, description: WorkerDescription): boolean {
    const why = this.whyNot(member, description);
    if (why === '') return true;
    const accepted = member.description === null ? 'accepted' : 'readmitted';
    if (!member.isDynamic) this.complain(member, `is not ${accepted}: ${why}`, why);
    else {
      // Logged by the code that let it come.
      member.problem = why;
      this.discard(member);
    }
    return false;
  }

  private whyNot(member: Member, description: WorkerDescription): string {
    const { cluster, gpuNumbers, room } = this;
    const { length } = description.gpus;
    const different = cluster === null ? '' : whyNotFitting(cluster, description);
    if (different !== '') return different;
    if (cluster !== null) member.kind = kindIn(cluster, description);
    if (member.gpuNumbers.length > 0) return '';
    const hasRoom = cluster === null ? !member.isDynamic || length <= room : gpuNumbers.take(member, length);
    if (hasRoom) return '';
    member.gpusWithoutRoom = length;
    return noRoom(length, room);
  }

  private complain(member: Member, what: string, problem: string): void {
    if (member.problem !== problem) this.events?.worker(member.link.name, false, what);
    member.problem = problem;
  }

  /** Removes a dynamic worker that is down. */
  private discard(member: Member): void {
    if (member.hasLeft) return;
    const { link } = member;
    Object.assign(member, {
      hasLeft: true,
      isLeaving: true,
      state: null,
      isAligning: false,
      isInService: false,
    });
    member.life++;
    this.list.splice(this.list.indexOf(member), 1);
    if (member.gpuNumbers.length > 0) this.events?.workerLeft(link.name);
    this.gpuNumbers.release(member);
    const closed = link.close().finally(() => this.closing.delete(closed));
    this.closing.add(closed);
    this.changed();
  }

  private changed(): void {
    this.changes.check();
    const isOthers = this.list.some(({ drivenBy }) => drivenBy === 'another');
    const isOurs = this.list.some(({ drivenBy }) => drivenBy === 'this');
    // Between two drivers there may be none for a moment, which is not a change.
    const isStandby = !isOurs && (isOthers || this.isStandby);
    if (isStandby === this.isStandby) return;
    this.isStandby = isStandby;
    this.events?.standsBy(isStandby);
  }

  /** Keeps models that a worker has from an earlier controller where there is room, then aligns it with the cluster. */
  private adopt(member: Member, state: WorkerState): void {
    const { models } = this;
    if (models === null) return;
    const life = ++member.life;
    member.isAligning = false;
    const { link, kind } = member;
    const adopted = models.adopt(
      { link, kind },
      state.changes ?? [],
      (index, model) => this.events?.modelFound(index, model) ?? false,
    );
    if (adopted === null) {
      this.align(models, member, state, life);
      return;
    }
    member.state = null;
    member.isAligning = true;
    void adopted.then(() => {
      if (life === member.life) this.align(models, member, state, life);
    });
  }

  private align(models: FleetModels, member: Member, state: WorkerState, life: number): void {
    member.isAligning = false;
    const aligned = models.align(member.link, member.description, state, {
      isWanted: () => life === member.life,
      failed: (reason) => this.complain(member, `is not accepted: ${reason}`, reason),
    });
    if (aligned === null) {
      this.putInService(member, state);
      return;
    }
    // Nothing is sent before.
    member.state = null;
    member.isAligning = true;
    void aligned.then((now) => {
      if (now === null) return;
      member.isAligning = false;
      this.putInService(member, now);
    });
  }

  private putInService(member: Member, state: WorkerState): void {
    const { gpuNumbers } = member;
    const { present } = state;
    member.state = state;
    member.problem = '';
    member.isInService = true;
    const { cluster } = this;
    const counted = cluster === null ? Number.POSITIVE_INFINITY : pagesIn(cluster.spec, member.kind);
    const unused = pagesNotUsed(member, counted);
    this.events?.worker(member.link.name, true, `is up${changeOfGpus(member, present.length)}${unused}`);
    member.known = Math.max(member.known, Math.min(present.length, gpuNumbers.length));
    this.recording.cameUp(member.link);
    present.slice(0, gpuNumbers.length).forEach((models, local) => {
      this.up.add(gpuNumbers[local]);
      this.events?.gpuUp(gpuNumbers[local], models, member.kind);
    });
    this.hasDriven = true;
    this.changes.check();
    this.workerCameUp();
  }

  private wentDown(member: Member, reason: string, local: number | null): void {
    if (local !== null && local >= member.gpuNumbers.length) return;
    const gpus = local === null ? member.gpuNumbers : [member.gpuNumbers[local]];
    if (local === null) {
      Object.assign(member, { state: null, isAligning: false, isInService: false });
      member.life++;
    }
    this.recording.wentDown(member.link, reason);
    const lost = gpus.filter((gpu) => this.up.has(gpu));
    const what = local === null ? 'is down' : `has lost its GPU ${local}`;
    const follows = lost.length === 0 ? '' : `, so these GPUs are gone: ${lost.join(', ')}`;
    const asAsked = reason === WORKER_SHUTS_DOWN;
    this.events?.worker(member.link.name, false, `${what}${follows}: ${reason}`, asAsked);
    for (const gpu of lost) {
      this.up.delete(gpu);
      this.events?.gpuDown(gpu, reason);
    }
    if (local === null && member.isLeaving) this.discard(member);
  }

  private passOn({ gpuNumbers }: Member, results: readonly ResultMessage[]): void {
    // They ascend: nothing is to be renumbered where the last one has its own number.
    const isSame = gpuNumbers.at(-1) === gpuNumbers.length - 1;
    this.events?.results(isSame ? results : results.map((r) => ({ ...r, gpu: gpuNumbers[r.gpu] })));
  }
}

function changeOfGpus({ gpuNumbers, known }: Member, now: number): string {
  const extra = now - gpuNumbers.length;
  if (extra > 0) return `; ${extra} of its GPUs are used from the next start on`;
  return now < known
    ? `, with ${now} of ${known} GPUs; the others count as gone until it has them again`
    : '';
}

function pagesNotUsed({ description }: Member, used: number): string {
  const most = Math.max(0, ...(description?.gpus.map(({ pages }) => pages) ?? []));
  return most <= used
    ? ''
    : `; of ${most} pages of its weights cache ${used} are used, as many as the smallest had at the start`;
}

/** Numbers of the cluster's GPUs, and whose they are. Those of a worker that left are free; the lowest goes first. */
class GpuNumbers {
  /** By GPU of the cluster; null: free. */
  private readonly held: ({ readonly member: Member; readonly local: number } | null)[] = [];

  /** Number of GPUs that the cluster has numbers for. */
  get size(): number {
    return this.held.length;
  }

  get free(): number {
    return this.held.reduce((count, holder) => count + (holder === null ? 1 : 0), 0);
  }

  /** Adds free numbers. */
  grow(count: number): void {
    for (let i = 0; i < count; i++) this.held.push(null);
  }

  /** Assigns numbers to the member's GPUs. False if too few are free. */
  take(member: Member, count: number): boolean {
    const gpuNumbers = this.held.flatMap((holder, gpu) => (holder === null ? gpu : [])).slice(0, count);
    if (gpuNumbers.length < count) return false;
    member.gpuNumbers = gpuNumbers;
    for (const [local, gpu] of gpuNumbers.entries()) this.held[gpu] = { member, local };
    return true;
  }

  /** Frees the member's numbers. */
  release(member: Member): void {
    for (const gpu of member.gpuNumbers) this.held[gpu] = null;
    member.gpuNumbers = [];
  }

  /** Null: no worker has that number. */
  memberOf(gpu: number): Member | null {
    return this.held[gpu]?.member ?? null;
  }

  /** Number of the GPU on its own worker. */
  localOf(gpu: number): number {
    return this.held[gpu]?.local ?? 0;
  }
}

/** Waits for conditions, checked after each change. */
export class Condition {
  private readonly waiting = new Set<() => void>();

  /** Resolves when the condition holds: now, or at a later `check`. */
  holds(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition()) return;
        this.waiting.delete(look);
        resolve();
      };
      this.waiting.add(look);
      look();
    });
  }

  /** Call after a change. */
  check(): void {
    for (const look of [...this.waiting]) look();
  }
}

/** Reason why a worker with this many GPUs waits, for people; 0: number unknown. */
export function noRoom(gpus: number, room: number): string {
  const has = gpus === 0 ? '' : `it has ${inWords(gpus)}, and `;
  const left = room === 0 ? 'no more GPUs' : `${inWords(room)} only`;
  return `waits for room: ${has}--max-gpus leaves room for ${left}; ${WHAT_TO_DO}`;
}

const WHAT_TO_DO = 'stop another worker, or start the controller with a larger --max-gpus';

function inWords(gpus: number): string {
  return gpus === 1 ? '1 GPU' : `${gpus} GPUs`;
}
