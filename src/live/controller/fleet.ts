import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS } from '../../base/units.js';
import type { ActionMessage, ResultMessage, WorkerDescription, WorkerState } from '../messages.js';
import { type FleetOperatorRuns, mergeOperatorRuns, NO_OPERATORS } from '../operator-runs.js';
import { clusterOfWorkers, type WorkerCluster, whyDifferent } from './cluster-of-workers.js';
import type { WorkerLink } from './link/worker-link.js';

/** What a fleet tells the controller, in terms of GPUs of the whole cluster. */
export interface FleetEvents {
  gpuUp(gpu: number, present: readonly number[]): void;
  gpuDown(gpu: number, reason: string): void;
  results(results: readonly ResultMessage[]): void;
  /** A worker is there, is not taken on, or has gone. */
  worker(name: string, up: boolean, what: string): void;
}

/** A worker's place in the cluster. */
interface Member {
  readonly link: WorkerLink;
  /** Its GPUs are `firstGpu` and those that follow. */
  firstGpu: number;
  description: WorkerDescription | null;
  state: WorkerState | null;
  /** What is to be sent to it at the end of the step. */
  outbox: ActionMessage[];
}

/** All workers as one cluster: numbers their GPUs, passes actions on and tells which GPUs are there. */
export class Fleet {
  private readonly members: Member[];
  /** Member by GPU; empty until `assemble` has resolved. */
  private memberOf: Member[] = [];
  private isUp: boolean[] = [];
  private events: FleetEvents | null = null;
  /** Operators are recorded. */
  private recording = false;
  /** Who went down meanwhile, and why. */
  private lost: string[] = [];
  private memberCameUp: () => void = () => {};

  constructor(links: readonly WorkerLink[]) {
    this.members = links.map((link) => ({ link, firstGpu: 0, description: null, state: null, outbox: [] }));
  }

  /**
   * Connects to all workers. Resolves with the cluster that they make when every one has introduced itself; rejects
   * with `E_WORKER` if that takes too long, or if they don't go together.
   */
  async assemble(nowNs: () => number, timeoutNs: number): Promise<WorkerCluster> {
    const allUp = new Promise<void>((resolve) => {
      this.memberCameUp = () => {
        if (this.members.every(({ description }) => description !== null)) resolve();
      };
    });
    for (const member of this.members) this.connect(member, nowNs);
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<void>((_, reject) => {
      timer = setTimeout(() => reject(this.notAllThere(timeoutNs)), timeoutNs / NS_PER_MS);
    });
    try {
      await Promise.race([allUp, tooLong]);
    } finally {
      clearTimeout(timer);
    }
    const workers = this.members.map(({ link, description }) => ({
      name: link.name,
      description: description as WorkerDescription,
    }));
    const cluster = clusterOfWorkers(workers);
    for (const member of this.members) {
      member.firstGpu = this.memberOf.length;
      for (const _ of member.description?.gpus ?? []) this.memberOf.push(member);
    }
    this.isUp = this.memberOf.map(() => false);
    return cluster;
  }

  /** From now on `events` is notified; at once of what is there already. */
  begin(events: FleetEvents): void {
    this.events = events;
    for (const member of this.members) if (member.state !== null) this.takeOn(member, member.state);
  }

  private get isAssembled(): boolean {
    return this.memberOf.length > 0;
  }

  get gpusUp(): number {
    return this.isUp.filter(Boolean).length;
  }

  nameOf(gpu: number): string {
    return this.memberOf[gpu].link.name;
  }

  /** Names the GPU's device for people. */
  deviceOf(gpu: number): string {
    return this.memberOf[gpu].description?.gpus[this.localGpu(gpu)].name ?? '';
  }

  /** Number of the GPU on its own worker. */
  localGpu(gpu: number): number {
    return gpu - this.memberOf[gpu].firstGpu;
  }

  /** To be sent with the next `flush`. `message.gpu` counts on the worker. */
  post(gpu: number, message: ActionMessage): void {
    this.memberOf[gpu].outbox.push(message);
  }

  flush(): void {
    for (const member of this.members) {
      if (member.outbox.length === 0) continue;
      const actions = member.outbox;
      member.outbox = [];
      if (member.state !== null) member.link.send(actions);
    }
  }

  /** Gives up on the worker of a GPU that does not answer. */
  restart(gpu: number, reason: string): void {
    this.memberOf[gpu].link.restart(reason);
  }

  /** Records the operators of INFERs from now on, also on workers that come up later. Does nothing while it records. */
  startRecording(): void {
    if (!this.recording) this.lost = [];
    this.recording = true;
    for (const { link } of this.members) link.startRecording();
  }

  /** What all workers have recorded, by the controller's clock. Never rejects: one that fails does not cost the others'. */
  async stopRecording(): Promise<FleetOperatorRuns> {
    this.recording = false;
    const problems = this.lost;
    const stop = ({ link }: Member) =>
      link.stopRecording().catch((error: Error) => {
        problems.push(`${link.name}: ${error.message}`);
        return NO_OPERATORS;
      });
    return { ...mergeOperatorRuns(await Promise.all(this.members.map(stop))), problems };
  }

  async close(): Promise<void> {
    this.events = null;
    for (const member of this.members) member.state = null;
    await Promise.all(this.members.map(({ link }) => link.close()));
  }

  private connect(member: Member, nowNs: () => number): void {
    member.link.start(
      {
        up: (description, state) => this.cameUp(member, description, state),
        results: (results) => this.passOn(member, results),
        down: (reason, gpu) => this.wentDown(member, reason, gpu),
      },
      nowNs,
    );
  }

  private cameUp(member: Member, description: WorkerDescription, state: WorkerState): void {
    const { description: before } = member;
    const different = before === null || !this.isAssembled ? '' : whyDifferent(before, description);
    if (different !== '') {
      this.events?.worker(member.link.name, false, `is not taken back: ${different}`);
      return;
    }
    member.description = this.isAssembled ? before : description;
    member.state = state;
    if (this.events !== null) this.takeOn(member, state);
    this.memberCameUp();
  }

  private takeOn(member: Member, { present }: WorkerState): void {
    this.events?.worker(member.link.name, true, 'is up');
    if (this.recording) member.link.startRecording();
    present.forEach((models, local) => {
      const gpu = member.firstGpu + local;
      this.isUp[gpu] = true;
      this.events?.gpuUp(gpu, models);
    });
  }

  private wentDown(member: Member, reason: string, local: number | null): void {
    const first = member.firstGpu;
    const gpus = local === null ? (member.description?.gpus.map((_, i) => first + i) ?? []) : [first + local];
    if (local === null) member.state = null;
    if (this.recording) this.lost.push(`${member.link.name} went down: ${reason}`);
    this.events?.worker(member.link.name, false, `is down: ${reason}`);
    for (const gpu of gpus) {
      if (this.isUp[gpu] !== true) continue;
      this.isUp[gpu] = false;
      this.events?.gpuDown(gpu, reason);
    }
  }

  private passOn(member: Member, results: readonly ResultMessage[]): void {
    this.events?.results(
      member.firstGpu === 0 ? results : results.map((r) => ({ ...r, gpu: r.gpu + member.firstGpu })),
    );
  }

  private notAllThere(timeoutNs: number): EscapementError {
    const missing = this.members.filter(({ description }) => description === null);
    return new EscapementError(
      'E_WORKER',
      `no answer from ${missing.map(({ link }) => link.name).join(', ')} within ${timeoutNs / NS_PER_MS} ms: ` +
        'is `escapement worker` running there?',
    );
  }
}
