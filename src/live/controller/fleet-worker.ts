import { invariant } from '../../base/invariant.js';
import type { Time, Timer } from '../../base/world/time.js';
import { Backoff } from '../backoff.js';
import {
  type ActionMessage,
  kindOfWorker,
  type ResultMessage,
  type WorkerDescription,
  type WorkerState,
} from '../messages.js';
import type { ServedModel } from '../model.js';
import type { ModelList, ModelReference } from '../model-list.js';
import type { ClockSync } from './link/clock-sync.js';
import type { DrivenMachine, Driving, LinkEvents, WorkerLink } from './link/worker-link.js';

/** Registration of a worker that came by itself. */
export interface Registration {
  /** HOST:PORT at which it serves. */
  readonly address: string;
  /** Name of its process. */
  readonly instance: string;
  /** Source host of the registration. */
  readonly host: string;
}

/**
 * Phase of a worker in a cluster: it is registered, but does not fit or has no room, and is not connected; it cannot be
 * reached, is made idle, or another controller drives it; it is up, and gets the right models; its GPUs are used; they
 * are, until it is down for good; it is no longer part of the cluster, or the cluster is closed.
 */
type Phase = 'waiting' | 'connecting' | 'joining' | 'serving' | 'draining' | 'gone';

const TRANSITIONS: Readonly<Record<Phase, readonly Phase[]>> = {
  waiting: ['connecting', 'gone'],
  connecting: ['joining', 'waiting', 'gone'],
  joining: ['serving', 'connecting', 'waiting', 'gone'],
  serving: ['connecting', 'draining', 'gone'],
  draining: ['gone'],
  gone: [],
};

/** Events of a worker for its fleet. Never called from within a call of the fleet's. */
export interface WorkerEvents extends Pick<LinkEvents, 'met' | 'driven'> {
  /** It is joining: idle, and takes actions. */
  up(description: WorkerDescription, state: WorkerState): void;
  /** Times are the controller's. */
  results(results: readonly ResultMessage[]): void;
  /** Nothing sent to this GPU is answered any more, until the worker is up again. */
  gpuDown(gpu: number, reason: string): void;
  /** Nothing sent is answered any more, until it is up again; `served`: it was not just joining. */
  down(reason: string, served: boolean): void;
}

interface Driven {
  readonly machine: DrivenMachine;
  /** Estimate of the machine's clock. */
  readonly clock: ClockSync;
}

/** A worker is no longer connected: it is asked again when it is back, or left alone. */
export class WorkerGone extends Error {
  constructor() {
    super('the worker is not connected any more');
  }
}

/**
 * A worker of a fleet. Static ones are known from the start; dynamic ones register, and may leave for good. Its machine is
 * driven from the time it can be reached until it is lost: made idle, reported up, given actions; times are translated.
 * When a GPU dies, that is reported at once and the others go on working; a moment later the whole machine goes down, is
 * made idle, which restarts the GPU, and comes up again. So a GPU that keeps dying interrupts the others at most once a
 * minute.
 */
export class FleetWorker {
  phase: Phase = 'connecting';
  /** Number of transitions; work begun in an earlier phase is void. */
  life = 0;
  link: WorkerLink;
  /** Numbers of its GPUs in the cluster, reserved while it is unknown. An unknown dynamic worker has none. */
  gpuNumbers: readonly number[] = [];
  /** Number of these known to exist; 0: it has never been up. */
  known = 0;
  description: WorkerDescription | null = null;
  /** True once its GPUs were used. */
  hasServed = false;
  /** Index of its GPUs' kind in the cluster; 0 until there is one. */
  kind = 0;
  /** Name of its process; empty: unknown. */
  instance = '';
  /** State that it reported when it came up. */
  reported: WorkerState | null = null;
  /** Its driver; not reported by the local one. */
  drivenBy: Driving = 'none';
  /** True if another controller drives it, and leaves it to this one. */
  isYielded = false;
  /** Reason why it is not used although it could be reached, for people; empty: none known. */
  problem = '';
  /** Number of GPUs that it waits for room for; Infinity: it does not fit the cluster. */
  wants = 0;
  /** Actions to send with the next `flush`, while it is in service. */
  outbox: ActionMessage[] = [];
  /** Keys of kept tensors to forget then. */
  forgotten: number[] = [];

  /** Last renewal of its registration; whether it has ever joined; its link's complaint about the address. */
  renewedNs = 0;
  everJoined = false;
  complaint = '';
  /** Trouble that was logged last. */
  logged = '';
  /** Reason why it leaves; empty: it stays. */
  leaving = '';
  leftNs = 0;

  private events: WorkerEvents | null = null;
  /** Clock of the controller. */
  private nowNs: () => number = () => 0;
  /** Null: no machine is driven at present. */
  private driven: Driven | null = null;
  private readonly revivals = new Backoff(FIRST_REVIVAL_MS, LONGEST_REVIVAL_MS);
  private revival: Timer | null = null;
  /** Rejects pending requests about the machine's models. */
  private readonly asked = new Set<(reason: Error) => void>();

  /** `newLink`: its parameter takes problems. `registration` null: it is static. */
  constructor(
    private readonly newLink: (complain: (what: string) => void) => WorkerLink,
    private readonly time: Time,
    readonly registration: Registration | null = null,
  ) {
    this.link = this.dial();
  }

  /** Connects to it, and reconnects when needed; `nowNs` is the controller's clock. */
  connect(events: WorkerEvents, nowNs: () => number): void {
    if (this.phase === 'waiting') {
      this.become('connecting');
      this.link = this.dial();
    }
    this.events = events;
    this.nowNs = nowNs;
    this.link.start(
      {
        met: (description) => events.met(description),
        driven: (by, yields) => events.driven(by, yields),
        drives: (machine, clock) => this.drive({ machine, clock }),
        lost: (reason) => this.lost(reason),
      },
      nowNs,
    );
  }

  get name(): string {
    return this.link.name;
  }

  get isDynamic(): boolean {
    return this.registration !== null;
  }

  /** True if its link is in use. */
  get isDialed(): boolean {
    return this.phase !== 'waiting' && this.phase !== 'gone';
  }

  /** True if it can be driven, or another controller drives it. */
  get isPresent(): boolean {
    return this.isUp || (this.description !== null && this.drivenBy === 'another');
  }

  /** True if this controller drives it. */
  get isUp(): boolean {
    return this.phase === 'joining' || this.isServing;
  }

  get isServing(): boolean {
    return this.phase === 'serving' || this.phase === 'draining';
  }

  /** True if it is up, or about to be, or driven by another controller. */
  get isConnected(): boolean {
    return this.isDialed && (this.isUp || this.drivenBy !== 'none');
  }

  /** True if it has GPUs in the cluster, or will have them once there is one. */
  get hasGpuNumbers(): boolean {
    return this.gpuNumbers.length > 0;
  }

  /** True if its GPUs are used, by this controller or another. */
  get hasJoined(): boolean {
    return this.hasGpuNumbers && (this.isServing || this.drivenBy === 'another');
  }

  get hasLeft(): boolean {
    return this.phase === 'gone';
  }

  /** Reason why it is not used, or cannot be reached, for people; empty: none known. */
  get trouble(): string {
    if (this.problem !== '' || this.complaint === '' || this.everJoined)
      return this.problem || this.complaint;
    return this.description === null
      ? `no worker answers at ${this.name}: ${this.complaint}`
      : this.complaint;
  }

  become(phase: Phase): void {
    invariant(
      TRANSITIONS[this.phase].includes(phase),
      `a worker that is ${this.phase} does not become ${phase}`,
    );
    this.phase = phase;
    this.life++;
    // It takes no actions of before.
    if (!this.isServing) this.outbox = [];
  }

  /** Sends actions, whose inputs are for it alone. Times are the controller's. Must be up. */
  send(actions: readonly ActionMessage[]): void {
    const { driven } = this;
    invariant(this.isUp && driven !== null, 'actions go to a worker that is up');
    const { offsetNs } = driven.clock;
    driven.machine.submit(actions.map((action) => toMachineTime(action, offsetNs)));
  }

  flush(): void {
    const keys = this.forgotten.splice(0);
    if (keys.length > 0) this.driven?.machine.forget?.(keys);
    if (this.outbox.length > 0) this.send(this.outbox.splice(0));
  }

  /** Like `Machine`; rejects with `WorkerGone` if it is not driven, or lost meanwhile. */
  listModels(name: string | null, config?: string): Promise<ModelList> {
    return this.ask((machine) => machine.listModels(name, config));
  }

  addModel(index: number, reference: ModelReference): Promise<ServedModel | null> {
    return this.ask((machine) => machine.addModel(index, reference));
  }

  dropModel(index: number): Promise<void> {
    return this.ask((machine) => machine.dropModel(index));
  }

  /** Gives it up: reports it down, then tries to bring it up again. */
  restart(reason: string): void {
    const { driven } = this;
    queueMicrotask(() => {
      if (driven === null || !this.isUpWith(driven)) return;
      this.goDown(reason);
      if (this.driven === driven) this.bringUp(driven);
    });
  }

  /** Gives up one of its GPUs, but not others; it is tried again later. */
  giveUp(gpu: number, reason: string): void {
    if (this.driven !== null) this.gpuDown(this.driven, gpu, reason);
  }

  /** Resolves when it was notified; no events follow. */
  close(): Promise<void> {
    this.release();
    return this.link.close();
  }

  /** Returns a new link, unstarted. */
  private dial(): WorkerLink {
    return this.newLink((what) => {
      this.complaint = what;
    });
  }

  private drive(driven: Driven): void {
    this.driven = driven;
    driven.machine.attach({
      results: (results) => this.pass(driven, results),
      gpuDown: (gpu, reason) => this.gpuDown(driven, gpu, reason),
    });
    this.bringUp(driven);
  }

  private lost(reason: string): boolean {
    const { isUp } = this;
    this.release();
    if (isUp) this.goDown(reason);
    return isUp;
  }

  /** Drives no machine any more. */
  private release(): void {
    this.driven = null;
    this.forgetRevival();
    const reason = new WorkerGone();
    for (const giveUp of this.asked) giveUp(reason);
  }

  private goDown(reason: string): void {
    const { isServing, phase } = this;
    this.become(phase === 'draining' ? 'gone' : 'connecting');
    this.events?.down(reason, isServing);
  }

  private isUpWith(driven: Driven): boolean {
    return this.isUp && this.driven === driven;
  }

  private ask<T>(question: (machine: DrivenMachine) => Promise<T>): Promise<T> {
    const { driven } = this;
    if (driven === null) return Promise.reject(new WorkerGone());
    return new Promise((resolve, reject) => {
      this.asked.add(reject);
      question(driven.machine)
        .then(resolve, reject)
        .finally(() => this.asked.delete(reject));
    });
  }

  private bringUp(driven: Driven): void {
    this.forgetRevival();
    driven.machine.quiesce().then(
      (state) => {
        if (this.driven !== driven) return;
        this.become('joining');
        this.events?.up(driven.machine.description, state);
      },
      (error: Error) => {
        if (this.driven !== driven) return;
        this.link.complain(`the worker cannot be made idle: ${error.message}`);
        this.later(() => this.bringUp(driven));
      },
    );
  }

  // A machine may answer from within `submit`, a worker never from within a call of the fleet's.
  private pass(driven: Driven, results: readonly ResultMessage[]): void {
    queueMicrotask(() => {
      if (!this.isUpWith(driven)) {
        driven.machine.forget?.(results.flatMap(({ kept = [] }) => kept));
        return;
      }
      const { offsetNs } = driven.clock;
      this.events?.results(results.map((result) => toControllerTime(result, offsetNs)));
    });
  }

  private gpuDown(driven: Driven, gpu: number, reason: string): void {
    queueMicrotask(() => {
      if (!this.isUpWith(driven)) return;
      this.events?.gpuDown(gpu, reason);
      // GPUs that share a thread die and come back together.
      if (this.revival === null) this.later(() => this.restart(`GPU ${gpu} is started again`));
    });
  }

  private later(revive: () => void): void {
    this.revival = this.time.after(this.revivals.delayMs(this.nowNs()), () => {
      this.revival = null;
      revive();
    });
  }

  private forgetRevival(): void {
    this.revival?.cancel();
    this.revival = null;
  }
}

const FIRST_REVIVAL_MS = 100;
const LONGEST_REVIVAL_MS = 60_000;

function toMachineTime(action: ActionMessage, offsetNs: number): ActionMessage {
  return { ...action, earliestNs: action.earliestNs + offsetNs, latestNs: action.latestNs + offsetNs };
}

function toControllerTime(result: ResultMessage, offsetNs: number): ResultMessage {
  return { ...result, beginNs: result.beginNs - offsetNs, endNs: result.endNs - offsetNs };
}

/** GPUs of a cluster: whose they are, and which are in service. Numbers of workers that left are reused, lowest first. */
export class ClusterGpus {
  /** Those in service. */
  readonly up = new Set<number>();
  /** Takes the results of all workers. Set by the controller. */
  results: WorkerEvents['results'] = () => {};
  /** By GPU; null: free. */
  private readonly held: ({ readonly worker: FleetWorker; readonly local: number } | null)[] = [];
  /** Workers with something to send. */
  private readonly sending = new Set<FleetWorker>();

  /** Number of GPUs that the cluster has numbers for. */
  get size(): number {
    return this.held.length;
  }

  get free(): number {
    return this.held.filter((holder) => holder === null).length;
  }

  /** Number of them up to the last that is held. */
  get known(): number {
    return this.held.findLastIndex((holder) => holder !== null) + 1;
  }

  /** Adds free numbers. */
  grow(count: number): void {
    for (let i = 0; i < count; i++) this.held.push(null);
  }

  /** Assigns numbers to the worker's GPUs. False if too few are free. */
  take(worker: FleetWorker, count: number): boolean {
    const gpuNumbers = this.held.flatMap((holder, gpu) => (holder === null ? gpu : [])).slice(0, count);
    if (gpuNumbers.length < count) return false;
    worker.gpuNumbers = gpuNumbers;
    for (const [local, gpu] of gpuNumbers.entries()) this.held[gpu] = { worker, local };
    return true;
  }

  /** Frees the worker's numbers. */
  release(worker: FleetWorker): void {
    for (const gpu of worker.gpuNumbers) this.held[gpu] = null;
    worker.gpuNumbers = [];
  }

  /** Number of the GPU on its own worker. */
  localOf(gpu: number): number {
    return this.held[gpu]?.local ?? 0;
  }

  /** Name of the GPU's worker; empty: no worker has that GPU. */
  nameOf(gpu: number): string {
    return this.held[gpu]?.worker.name ?? '';
  }

  /** Name of the GPU's kind; empty: no worker has that GPU. */
  kindOf(gpu: number): string {
    const description = this.held[gpu]?.worker.description ?? null;
    return description === null ? '' : kindOfWorker(description);
  }

  /** Queues an action for the next `flush`, if the GPU is in service. `action.gpu` is the number on the worker. */
  post(gpu: number, action: ActionMessage): void {
    const worker = this.held[gpu]?.worker;
    if (worker === undefined || !this.up.has(gpu)) return;
    worker.outbox.push(action);
    this.sending.add(worker);
  }

  /** Has the GPU's worker forget a kept tensor with the next `flush`. */
  forget(gpu: number, key: number): void {
    const worker = this.held[gpu]?.worker;
    if (worker === undefined) return;
    worker.forgotten.push(key);
    this.sending.add(worker);
  }

  flush(): void {
    for (const worker of this.sending) worker.flush();
    this.sending.clear();
  }

  /** Restarts the worker of a GPU that does not answer. */
  restart(gpu: number, reason: string): void {
    this.held[gpu]?.worker.restart(reason);
  }

  /** Gives up a GPU, but not others of its worker; it is retried later. */
  giveUp(gpu: number, reason: string): void {
    this.held[gpu]?.worker.giveUp(this.localOf(gpu), reason);
  }

  /** Returns what takes the results of a worker, with its own numbers of GPUs. */
  resultsOf(worker: FleetWorker): WorkerEvents['results'] {
    return (results) => {
      const { gpuNumbers } = worker;
      // Numbers ascend, so nothing needs renumbering if the last one is unchanged.
      const isSame = gpuNumbers.at(-1) === gpuNumbers.length - 1;
      this.results(isSame ? results : results.map((each) => ({ ...each, gpu: gpuNumbers[each.gpu] })));
    };
  }
}
