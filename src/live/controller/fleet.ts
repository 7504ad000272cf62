import type { ActionMessage, ResultMessage, WorkerDescription, WorkerState } from '../messages.js';
import type { ServedModel } from '../model.js';
import type { FleetOperatorRuns } from '../operator-runs.js';
import { within } from '../within.js';
import { clusterOfWorkers, type WorkerCluster, whyNotFitting } from './cluster-of-workers.js';
import { FleetModels } from './fleet-models.js';
import { FleetRecording } from './fleet-recording.js';
import type { Driving, ReturnedInputs, WorkerLink } from './link/worker-link.js';
import { isPresent, type Member, newMember } from './member.js';
import { notAllThere, type Patience } from './patience.js';
import { Standing } from './standing.js';
import { Until } from './until.js';

/** What a fleet tells the controller, in terms of GPUs of the whole cluster. */
export interface FleetEvents {
  gpuUp(gpu: number, present: readonly number[]): void;
  /** `returned`: see `WorkerEvents`. */
  gpuDown(gpu: number, reason: string, returned?: ReturnedInputs): void;
  results(results: readonly ResultMessage[]): void;
  /** Another controller drives the workers; false: not any more. */
  standsBy(isIt: boolean): void;
  /** A worker has this model from an earlier controller. Returns whether it stays. */
  modelFound(index: number, model: ServedModel): boolean;
  /** A worker is there, is not taken on, or has gone. */
  worker(name: string, up: boolean, what: string): void;
}

/** All workers as one cluster: numbers their GPUs, passes actions on and tells which GPUs are there. */
export class Fleet {
  private readonly members: Member[];
  /** Member by GPU; empty until `assemble` has resolved. */
  private memberOf: Member[] = [];
  private isUp: boolean[] = [];
  private events: FleetEvents | null = null;
  private readonly recording = new FleetRecording();
  /** Called when a worker has come up. Set by who has models for it. */
  tookOn: () => void = () => {};
  /** Of members. */
  private readonly changes = new Until();
  readonly standing = new Standing();
  /** It has driven a worker. */
  private hasDriven = false;
  private cluster: WorkerCluster | null = null;
  /** Until `assemble` has resolved there are none. */
  models = new FleetModels([], () => []);

  constructor(links: readonly WorkerLink[]) {
    this.members = links.map(newMember);
  }

  /**
   * Connects to all workers. Resolves with the cluster that those make which have introduced themselves in time, with
   * places for the others, which may come later; rejects with `E_WORKER` if there are too few, or if they don't go
   * together. Those that another controller drives count, too.
   */
  async assemble(nowNs: () => number, patience: Patience): Promise<WorkerCluster> {
    const { timeoutNs, minWorkers = this.members.length, graceNs = 0 } = patience;
    const enough = this.untilMany(minWorkers, isPresent);
    const all = this.untilMany(this.members.length, isPresent);
    for (const member of this.members) this.connect(member, nowNs);
    if (!(await within(enough, timeoutNs)))
      throw notAllThere(
        this.members.filter((each) => !isPresent(each)).map(({ link }) => link.name),
        timeoutNs,
      );
    if (graceNs > 0) await within(all, graceNs);
    const present = this.members.flatMap(({ link: { name }, description }) =>
      description === null ? [] : { name, description },
    );
    const places = Math.max(...present.map(({ description }) => description.gpus.length));
    for (const member of this.members) {
      member.firstGpu = this.memberOf.length;
      member.known = member.description?.gpus.length ?? 0;
      member.gpus = member.description?.gpus.length ?? places;
      for (let i = 0; i < member.gpus; i++) this.memberOf.push(member);
    }
    this.cluster = clusterOfWorkers(present, this.memberOf.length);
    this.isUp = this.memberOf.map(() => false);
    this.models = new FleetModels(this.cluster.models, () => this.linksForModels());
    return this.cluster;
  }

  /** From now on `events` is notified; at once of what is there already. */
  begin(events: FleetEvents): void {
    this.events = events;
    for (const member of this.members) if (member.state !== null) this.join(member, member.state);
  }

  /** Resolves when this controller drives all workers that are there, or one of them for `graceNs`. */
  async untilDriving(graceNs: number): Promise<void> {
    await this.changes.holds(() => this.hasDriven);
    const there = this.members.filter(({ drivenBy, state }) => state !== null || drivenBy !== 'none');
    await within(
      this.untilMany(there.length, ({ state }) => state !== null),
      graceNs,
    );
  }

  get gpusUp(): number {
    return this.isUp.filter(Boolean).length;
  }

  /** Names of the workers that are not up. */
  get away(): readonly string[] {
    return this.members.flatMap(({ link, state }) => (state === null ? link.name : []));
  }

  nameOf(gpu: number): string {
    return this.memberOf[gpu].link.name;
  }

  /** Names the GPU's device for people. */
  deviceOf(gpu: number): string {
    return this.memberOf[gpu].description?.gpus[this.localGpu(gpu)]?.name ?? '';
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
    this.recording.start(this.links);
  }

  /** What all workers have recorded, by the controller's clock. Never rejects. */
  stopRecording(): Promise<FleetOperatorRuns> {
    return this.recording.stop(this.links);
  }

  async close(): Promise<void> {
    this.events = null;
    for (const member of this.members) {
      member.state = null;
      member.life++;
    }
    await Promise.all(this.links.map((link) => link.close()));
  }

  private get links(): WorkerLink[] {
    return this.members.map(({ link }) => link);
  }

  private connect(member: Member, nowNs: () => number): void {
    member.link.start(
      {
        met: (description) => this.met(member, description),
        driven: (by) => this.driven(member, by),
        up: (description, state) => this.cameUp(member, description, state),
        results: (results) => this.passOn(member, results),
        down: (reason, gpu, returned) => this.wentDown(member, reason, gpu, returned),
      },
      nowNs,
    );
  }

  /** Later its place says what it has to be. */
  private met(member: Member, description: WorkerDescription): void {
    if (this.cluster === null) member.description = description;
  }

  private driven(member: Member, by: Driving): void {
    member.drivenBy = by;
    this.changes.check();
    if (this.standing.follow(this.members)) this.events?.standsBy(this.standing.by);
  }

  private cameUp(member: Member, description: WorkerDescription, state: WorkerState): void {
    const different = this.cluster === null ? '' : whyNotFitting(this.cluster, description);
    if (different !== '') {
      const back = member.description === null ? 'on' : 'back';
      this.events?.worker(member.link.name, false, `is not taken ${back}: ${different}`);
      return;
    }
    member.description = description;
    member.state = state;
    if (this.events !== null) this.join(member, state);
    this.changes.check();
  }

  /** Takes the worker on when it has the models that it should have. */
  private join(member: Member, state: WorkerState): void {
    const life = ++member.life;
    member.isAligning = false;
    const adopted = this.models.adopt(
      member.link,
      state.changes ?? [],
      (index, model) => this.events?.modelFound(index, model) ?? false,
    );
    if (adopted === null) {
      this.align(member, state, life);
      return;
    }
    member.state = null;
    member.isAligning = true;
    void adopted.then(() => {
      if (life === member.life) this.align(member, state, life);
    });
  }

  private align(member: Member, state: WorkerState, life: number): void {
    member.isAligning = false;
    const aligned = this.models.align(member.link, member.description, state, {
      isWanted: () => life === member.life,
      failed: (reason) => this.events?.worker(member.link.name, false, `is not taken on: ${reason}`),
    });
    if (aligned === null) {
      member.state = state;
      this.takeOn(member, state);
      return;
    }
    // It is sent nothing before.
    member.state = null;
    member.isAligning = true;
    void aligned.then((now) => {
      if (now === null) return;
      member.isAligning = false;
      member.state = now;
      this.takeOn(member, now);
    });
  }

  /** Workers that are up. Where none is, those that wait because their files are newer than the cluster's. */
  private linksForModels(): WorkerLink[] {
    const up = this.members.filter(({ state }) => state !== null);
    return (up.length > 0 ? up : this.members.filter(({ isAligning }) => isAligning)).map(({ link }) => link);
  }

  private takeOn(member: Member, { present }: WorkerState): void {
    this.events?.worker(member.link.name, true, `is up${changeOfGpus(member, present.length)}`);
    member.known = Math.max(member.known, Math.min(present.length, member.gpus));
    this.recording.cameUp(member.link);
    present.slice(0, member.gpus).forEach((models, local) => {
      const gpu = member.firstGpu + local;
      this.isUp[gpu] = true;
      this.events?.gpuUp(gpu, models);
    });
    this.hasDriven = true;
    this.changes.check();
    this.tookOn();
  }

  private wentDown(member: Member, reason: string, local: number | null, returned?: ReturnedInputs): void {
    const first = member.firstGpu;
    if (local !== null && local >= member.gpus) return;
    const gpus = local === null ? Array.from({ length: member.gpus }, (_, i) => first + i) : [first + local];
    if (local === null) {
      member.state = null;
      member.isAligning = false;
      member.life++;
    }
    this.recording.wentDown(member.link, reason);
    const lost = gpus.filter((gpu) => this.isUp[gpu] === true);
    const what = local === null ? 'is down' : `has lost its GPU ${local}`;
    const follows = lost.length === 0 ? '' : `, so these GPUs are gone: ${lost.join(', ')}`;
    this.events?.worker(member.link.name, false, `${what}${follows}: ${reason}`);
    for (const gpu of lost) {
      this.isUp[gpu] = false;
      this.events?.gpuDown(gpu, reason, returned);
    }
  }

  private untilMany(count: number, which: (member: Member) => boolean): Promise<void> {
    return this.changes.holds(() => this.members.filter(which).length >= count);
  }

  private passOn(member: Member, results: readonly ResultMessage[]): void {
    this.events?.results(
      member.firstGpu === 0 ? results : results.map((r) => ({ ...r, gpu: r.gpu + member.firstGpu })),
    );
  }
}

function changeOfGpus({ gpus, known }: Member, now: number): string {
  if (now > gpus) return `; ${now - gpus} of its GPUs are used from the next start on`;
  return now < known
    ? `, with ${now} of ${known} GPUs; the others count as gone until it has them again`
    : '';
}
