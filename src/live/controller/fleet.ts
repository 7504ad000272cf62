import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS } from '../../base/units.js';
import { REAL_TIME } from '../../base/world/real-time.js';
import type { Time } from '../../base/world/time.js';
import type { WorkerDescription, WorkerState } from '../messages.js';
import type { ServedModel } from '../model.js';
import { WORKER_SHUTS_DOWN } from '../wire/protocol.js';
import { within } from '../within.js';
import {
  clusterOfWorkers,
  kindIn,
  pagesIn,
  type WorkerCluster,
  whyNotFitting,
  whyNotTogether,
} from './cluster-of-workers.js';
import { FleetModels } from './fleet-models.js';
import { ClusterGpus, FleetWorker, type Registration } from './fleet-worker.js';
import type { Driving, WorkerLink } from './link/worker-link.js';

/** Limit on links to dynamic workers that are not connected yet. */
const MOST_DIALED = 128;

/** Events of a fleet, in terms of GPUs of the whole cluster. */
export interface FleetEvents {
  gpuUp(gpu: number, present: readonly number[], kind: number): void;
  gpuDown(gpu: number, reason: string): void;
  /** True when another controller drives the workers; false when it no longer does. */
  standsBy(isIt: boolean): void;
  /** `mayTakeOver` has changed. */
  yielded(): void;
  /** Reports a model that a worker has from an earlier controller. Returns true if it stays. */
  modelFound(index: number, model: ServedModel): Promise<boolean>;
  /** Reports that other workers than before have a model. */
  modelMoved(index: number): void;
  /** Reports a worker that is up, refused or down; `asAsked`: it was asked to shut down. */
  worker(name: string, up: boolean, what: string, asAsked?: boolean): void;
  /** Reports that a worker that registered itself has left for good. */
  workerLeft(name: string): void;
}

/**
 * All workers as one cluster: contacts them, accepts those that fit, numbers their GPUs, passes actions on and reports
 * which GPUs are in service. Static workers, known from the start, keep their numbers; dynamic ones register themselves,
 * and make room for others when they leave.
 */
export class Fleet {
  private readonly workers: FleetWorker[] = [];
  readonly gpus = new ClusterGpus();
  private readonly changes = new Condition();
  /** Called when a worker has come up. Set by the owner of its models. */
  workerCameUp: () => void = () => {};
  /** None until `assemble` has resolved. */
  models: FleetModels;
  /** True if another controller drives the workers. */
  isStandby = false;
  /** True if that controller leaves all of them to this one. */
  mayTakeOver = false;
  /** True once a worker has been accepted. */
  private hasDriven = false;
  private events: FleetEvents | null = null;
  private cluster: WorkerCluster | null = null;
  /** Clock of the controller; null before connecting. */
  private nowNs: (() => number) | null = null;
  /** Links of dynamic workers that are not used any more, still closing. */
  private readonly closing = new Set<Promise<void>>();

  /** `maxGpus`: limit on the cluster's GPUs with dynamic workers; null: there are none. */
  constructor(
    links: readonly WorkerLink[],
    private readonly maxGpus: number | null = null,
    private readonly time: Time = REAL_TIME,
  ) {
    this.models = new FleetModels(
      [],
      () => [],
      1,
      time,
      () => {},
    );
    for (const link of links) this.workers.push(new FleetWorker(() => link, time));
  }

  /**
   * Connects to all workers. Resolves with the cluster of those that respond in time, with GPU numbers for the others, which
   * may come later; rejects with `E_WORKER` if there are too few, or if they don't match. Those driven by another
   * controller count, too.
   */
  async assemble(nowNs: () => number, timeout: StartupTimeout): Promise<WorkerCluster> {
    const { workers, gpus, maxGpus, time } = this;
    this.nowNs = nowNs;
    for (const worker of workers) this.connect(worker, nowNs);
    await enoughInTime(workers, this.changes, timeout, time);
    const { present, dynamic } = initialWorkers(workers, maxGpus);
    const most = Math.max(...present.map(({ description }) => description.gpus.length));
    for (const worker of workers) {
      if (worker.isDynamic && !dynamic.has(worker)) continue;
      worker.known = worker.description?.gpus.length ?? 0;
      const count = worker.description?.gpus.length ?? most;
      gpus.grow(count);
      gpus.take(worker, count);
    }
    const used = gpus.size;
    gpus.grow(Math.max(0, (maxGpus ?? 0) - used));
    const cluster = clusterOfWorkers(present, used, gpus.size - used);
    const moved = (index: number) => this.events?.modelMoved(index);
    const workersForModels = () => this.workersForModels();
    this.models = new FleetModels(cluster.models, workersForModels, cluster.kinds.length, time, moved);
    this.cluster = cluster;
    for (const worker of workers)
      if (worker.description !== null) worker.kind = Math.max(0, kindIn(cluster, worker.description));
    for (const worker of [...workers])
      if (!worker.hasGpuNumbers && worker.description !== null) this.admit(worker, worker.description);
    return cluster;
  }

  /** Starts notifying `events`, first of the current state. */
  begin(events: FleetEvents): void {
    this.events = events;
    for (const worker of [...this.workers]) if (worker.isUp) this.adopt(worker);
  }

  /** Adds a worker that registered itself. `newLink`: connects to it; its parameter takes problems. */
  add(registration: Registration, newLink: (complain: (what: string) => void) => WorkerLink): FleetWorker {
    const worker = new FleetWorker(newLink, this.time, registration);
    this.workers.push(worker);
    if (this.nowNs !== null) this.connect(worker, this.nowNs);
    return worker;
  }

  /** Removes a dynamic worker for good: at once with a reason, otherwise once its actions are finished. */
  leave(worker: FleetWorker, reason: string | null): void {
    if (worker.phase === 'serving') worker.become('draining');
    else if (!worker.isServing) this.remove(worker);
    if (reason !== null && !worker.hasLeft) worker.restart(reason);
  }

  /** True if unknown workers may come. */
  get isOpen(): boolean {
    return this.maxGpus !== null;
  }

  /** False while as many dynamic workers are dialed for the first time as may be at once. */
  get mayDial(): boolean {
    const isNew = ({ isDynamic, isDialed, isConnected, complaint }: FleetWorker) =>
      isDynamic && isDialed && !isConnected && complaint === '';
    return this.workers.filter(isNew).length < MOST_DIALED;
  }

  /** Static worker with that address or process; null: unknown. */
  staticWorker(name: string, instance: string): FleetWorker | null {
    const known = this.workers.filter(({ isDynamic }) => !isDynamic);
    return known.find((each) => each.name === name || each.instance === instance) ?? null;
  }

  /** Number of GPUs that may still be added. */
  get room(): number {
    return this.cluster === null ? (this.maxGpus ?? 0) : this.gpus.free;
  }

  /** Resolves when this controller drives all present workers, or has driven one of them for `graceNs`. */
  async untilDriving(graceNs: number): Promise<void> {
    const { changes, workers } = this;
    await changes.holds(() => this.hasDriven);
    const there = workers.filter(({ isServing, drivenBy }) => isServing || drivenBy !== 'none');
    const all = changes.holds(() => there.every(({ isServing, hasLeft }) => isServing || hasLeft));
    await within(this.time, all, graceNs);
  }

  /** Resolves when a worker is up that can be asked for models. */
  untilUp(): Promise<void> {
    return this.changes.holds(() => this.workersForModels().length > 0);
  }

  /** Names of the workers that are not up, and may be. */
  get away(): readonly string[] {
    return this.workers.flatMap(({ name, isServing, isDialed }) => (isServing || !isDialed ? [] : name));
  }

  get links(): readonly WorkerLink[] {
    return this.workers.flatMap(({ link, isDialed }) => (isDialed ? link : []));
  }

  /** Drives the workers until another controller asks for them. */
  yield(): void {
    for (const link of this.links) link.yield?.();
  }

  /** Asks for the workers if `mayTakeOver`. */
  takeOver(): void {
    for (const link of this.links) link.takeOver?.();
  }

  async close(): Promise<void> {
    this.events = null;
    const dialed = this.workers.filter(({ isDialed }) => isDialed);
    for (const worker of dialed) worker.become('gone');
    await Promise.all([...dialed.map((worker) => worker.close()), ...this.closing]);
  }

  /** Workers that are up. If none is, those waiting because their files are newer than the cluster's. */
  private workersForModels(): FleetWorker[] {
    const up = this.workers.filter(({ isServing }) => isServing);
    return up.length > 0 ? up : this.workers.filter(({ isUp }) => isUp);
  }

  private connect(worker: FleetWorker, nowNs: () => number): void {
    worker.connect(
      {
        met: (description) => this.met(worker, description),
        driven: (by, yields = false) => this.driven(worker, by, yields),
        up: (description, state) => this.cameUp(worker, description, state),
        results: this.gpus.resultsOf(worker),
        gpuDown: (gpu, reason) => this.lostGpu(worker, gpu, reason),
        down: (reason, served) => this.wentDown(worker, reason, served),
      },
      nowNs,
    );
  }

  /** Handles the description of a worker with GPU numbers, or of the first, which sets the requirements for others. */
  private met(worker: FleetWorker, description: WorkerDescription): void {
    this.name(worker, description);
    if (this.cluster !== null && worker.hasGpuNumbers) return;
    if (this.admit(worker, description)) worker.description = description;
  }

  private driven(worker: FleetWorker, by: Driving, yields: boolean): void {
    worker.drivenBy = by;
    worker.isYielded = yields && by === 'another';
    this.changed();
  }

  private cameUp(worker: FleetWorker, description: WorkerDescription, state: WorkerState): void {
    if (!this.admit(worker, description)) return;
    this.name(worker, description);
    worker.description = description;
    worker.reported = state;
    if (this.events !== null) this.adopt(worker);
    this.changes.check();
  }

  /** Names the worker. Two links to one worker would compete for its leader lease: the static one stays. */
  private name(worker: FleetWorker, { instance = '' }: WorkerDescription): void {
    worker.instance = instance;
    if (worker.isDynamic || instance === '') return;
    for (const twin of this.workers.filter((each) => each.isDynamic && each.instance === instance)) {
      twin.problem = `it is worker ${worker.name}, which is known from the start`;
      this.leave(twin, twin.problem);
    }
  }

  /** True if the worker fits the cluster, and its GPUs have gpus. A dynamic worker that does not fit is set aside. */
  private admit(worker: FleetWorker, description: WorkerDescription): boolean {
    const why = this.whyNot(worker, description);
    if (why === '') return true;
    const accepted = worker.description === null ? 'accepted' : 'readmitted';
    if (worker.isDynamic) this.setAside(worker, why);
    else {
      worker.become('connecting');
      this.complain(worker, `is not ${accepted}: ${why}`, why);
    }
    return false;
  }

  /** Leaves a dynamic worker that does not fit, or has no room, to others. Logged by the code that let it come. */
  private setAside(worker: FleetWorker, problem: string): void {
    worker.become('waiting');
    worker.problem = problem;
    worker.drivenBy = 'none';
    worker.description = null;
    this.release(worker);
  }

  private whyNot(worker: FleetWorker, description: WorkerDescription): string {
    const { cluster, gpus, room } = this;
    const { length } = description.gpus;
    const different = cluster === null ? '' : whyNotFitting(cluster, description);
    worker.wants = different === '' ? length : Number.POSITIVE_INFINITY;
    if (different !== '') return different;
    if (cluster !== null) worker.kind = kindIn(cluster, description);
    if (worker.hasGpuNumbers) return '';
    const hasRoom = cluster === null ? !worker.isDynamic || length <= room : gpus.take(worker, length);
    return hasRoom ? '' : noRoom(length, room);
  }

  private complain(worker: FleetWorker, what: string, problem: string): void {
    if (worker.problem !== problem) this.events?.worker(worker.name, false, what);
    worker.problem = problem;
  }

  /** Removes a dynamic worker that is not in use. */
  private remove(worker: FleetWorker): void {
    if (worker.hasLeft) return;
    worker.become('gone');
    this.release(worker);
  }

  /** Frees the GPU numbers of a dynamic worker that is waiting or gone, and closes its link. */
  private release(worker: FleetWorker): void {
    if (worker.hasLeft) this.workers.splice(this.workers.indexOf(worker), 1);
    if (worker.hasGpuNumbers) this.events?.workerLeft(worker.name);
    this.gpus.release(worker);
    this.models.left(worker);
    const closed = worker.close().finally(() => this.closing.delete(closed));
    this.closing.add(closed);
    this.changed();
  }

  private dialAgain(worker: FleetWorker): void {
    if (this.nowNs === null || worker.wants > this.room || !this.mayDial) return;
    worker.problem = '';
    this.connect(worker, this.nowNs);
  }

  private changed(): void {
    for (const each of this.workers) if (each.phase === 'waiting') this.dialAgain(each);
    this.changes.check();
    const isOthers = this.workers.some(({ drivenBy }) => drivenBy === 'another');
    const isOurs = this.workers.some(({ drivenBy }) => drivenBy === 'this');
    // A moment without a driver between two of them is not a change.
    const isStandby = !isOurs && (isOthers || this.isStandby);
    const mayTakeOver =
      isOthers && this.workers.every(({ drivenBy, isYielded }) => isYielded || drivenBy === 'none');
    if (mayTakeOver !== this.mayTakeOver) {
      this.mayTakeOver = mayTakeOver;
      this.events?.yielded();
    }
    if (isStandby === this.isStandby) return;
    this.isStandby = isStandby;
    this.events?.standsBy(isStandby);
  }

  /** Keeps models that a worker has from an earlier controller, if there is room, then aligns it with the cluster. */
  private adopt(worker: FleetWorker): void {
    const { models } = this;
    const { life, reported } = worker;
    if (reported === null) return;
    const adopted = models.adopt(
      worker,
      reported.changes ?? [],
      async (index, model) => (await this.events?.modelFound(index, model)) ?? false,
    );
    if (adopted === null) this.align(worker, reported, life);
    else
      void adopted.then(() => {
        if (life === worker.life) this.align(worker, reported, life);
      });
  }

  private align(worker: FleetWorker, reported: WorkerState, life: number): void {
    const aligned = this.models.align(
      worker,
      reported,
      () => life === worker.life,
      (reason) => this.complain(worker, `is not accepted: ${reason}`, reason),
    );
    if (aligned === null) this.putInService(worker, reported);
    else
      void aligned.then((state) => {
        if (state !== null && life === worker.life) this.putInService(worker, state);
      });
  }

  private putInService(worker: FleetWorker, { present }: WorkerState): void {
    const { cluster, events } = this;
    const { gpuNumbers, name } = worker;
    worker.become('serving');
    worker.problem = '';
    const counted = cluster === null ? Number.POSITIVE_INFINITY : pagesIn(cluster.spec, worker.kind);
    const unused = pagesNotUsed(worker, counted);
    const up = worker.hasServed ? 'is up again' : 'is up';
    const follows = `so these GPUs are in service: ${gpuNumbers.slice(0, present.length).join(', ')}`;
    worker.hasServed = true;
    events?.worker(name, true, `${up}, ${follows}${changeOfGpus(worker, present.length)}${unused}`);
    worker.known = Math.max(worker.known, Math.min(present.length, gpuNumbers.length));
    present.slice(0, gpuNumbers.length).forEach((models, local) => {
      this.gpus.up.add(gpuNumbers[local]);
      events?.gpuUp(gpuNumbers[local], models, worker.kind);
    });
    this.hasDriven = true;
    this.changes.check();
    this.workerCameUp();
  }

  private lostGpu(worker: FleetWorker, local: number, reason: string): void {
    const gpu = worker.gpuNumbers[local];
    if (gpu !== undefined) this.outOfService(worker, [gpu], `has lost its GPU ${local}`, reason);
  }

  private wentDown(worker: FleetWorker, reason: string, served: boolean): void {
    const what = served ? 'is down' : 'was lost before it was in service';
    this.outOfService(worker, worker.gpuNumbers, what, reason);
    if (worker.hasLeft) this.release(worker);
  }

  private outOfService({ name }: FleetWorker, gpus: readonly number[], what: string, reason: string): void {
    const lost = gpus.filter((gpu) => this.gpus.up.has(gpu));
    const follows = lost.length === 0 ? '' : `, so these GPUs are out of service: ${lost.join(', ')}`;
    this.events?.worker(name, false, `${what}${follows}: ${reason}`, reason === WORKER_SHUTS_DOWN);
    for (const gpu of lost) this.gpus.up.delete(gpu);
    for (const gpu of lost) this.events?.gpuDown(gpu, reason);
  }
}

function changeOfGpus({ gpuNumbers, known }: FleetWorker, now: number): string {
  const extra = now - gpuNumbers.length;
  if (extra > 0) return `; ${extra} of its GPUs are used from the next start on`;
  return now < known
    ? `; it has ${now} of ${known} GPUs, and the others count as gone until it has them again`
    : '';
}

function pagesNotUsed({ description }: FleetWorker, used: number): string {
  const most = Math.max(0, ...(description?.gpus.map(({ pages }) => pages) ?? []));
  return most <= used
    ? ''
    : `; of ${most} pages of its weights cache ${used} are used, as many as the smallest had at the start`;
}

/** Reason why a worker with this many GPUs waits, for people. */
function noRoom(gpus: number, room: number): string {
  const left = room === 0 ? 'no more GPUs' : `only ${inWords(room)}`;
  return `waits for room: it has ${inWords(gpus)}, and --max-gpus leaves room for ${left}; ${WHAT_TO_DO}`;
}

const WHAT_TO_DO = 'stop another worker, or start the controller with a larger --max-gpus';

function inWords(gpus: number): string {
  return gpus === 1 ? '1 GPU' : `${gpus} GPUs`;
}

interface InitialWorkers {
  /** Workers that make up the cluster. */
  readonly present: readonly { readonly name: string; readonly description: WorkerDescription }[];
  /** Dynamic workers among them. */
  readonly dynamic: ReadonlySet<FleetWorker>;
}

/**
 * Workers that make up the cluster: all static ones that have come, and the dynamic ones that fit, as far as there is
 * room. If no static one has come, the first dynamic one sets the requirements for the others.
 */
function initialWorkers(workers: readonly FleetWorker[], maxGpus: number | null): InitialWorkers {
  const present: { readonly name: string; readonly description: WorkerDescription }[] = [];
  const dynamic = new Set<FleetWorker>();
  let gpus = 0;
  for (const worker of workers.toSorted((a, b) => Number(a.isDynamic) - Number(b.isDynamic))) {
    const { description, isDynamic, name } = worker;
    if (description === null) continue;
    const wanted = gpus + description.gpus.length;
    const isFitting = present.length === 0 || whyNotTogether(present[0].description, description) === '';
    if (isDynamic && present.length > 0 && (!isFitting || wanted > (maxGpus ?? 0))) continue;
    if (isDynamic) dynamic.add(worker);
    gpus = wanted;
    present.push({ name, description });
  }
  return { present, dynamic };
}

/** Time for workers to come, and how many of them must. */
interface StartupTimeout {
  /** Time after which it rejects if fewer are present; null: it waits indefinitely. */
  readonly timeoutNs: number | null;
  /** Minimum number of workers. Default: all. */
  readonly minWorkers?: number;
  /** Further time for the others once these are present. */
  readonly graceNs?: number;
}

/** Resolves when enough workers are present; more may register meanwhile. Rejects with `E_WORKER`. */
async function enoughInTime(
  workers: readonly FleetWorker[],
  changes: Condition,
  { timeoutNs, minWorkers = workers.length, graceNs = 0 }: StartupTimeout,
  time: Time,
): Promise<void> {
  const enough = changes.holds(() => workers.filter(({ isPresent }) => isPresent).length >= minWorkers);
  if (timeoutNs === null) await enough;
  else if (!(await within(time, enough, timeoutNs))) {
    const missing = workers.filter(({ isPresent }) => !isPresent).map(({ name }) => name);
    throw new EscapementError(
      'E_WORKER',
      `no answer from ${missing.join(', ')} within ${timeoutNs / NS_PER_MS} ms: is \`escapement worker\` running there?`,
    );
  }
  const all = changes.holds(() => workers.every(({ isPresent }) => isPresent));
  if (graceNs > 0) await within(time, all, graceNs);
}

/** Waits for conditions, checked after each change. */
class Condition {
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
