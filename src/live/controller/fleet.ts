import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS } from '../../base/units.js';
import { REAL_TIME } from '../../base/world/real-time.js';
import type { Time } from '../../base/world/time.js';
import { kindOfWorker } from '../gpu-kind.js';
import type { ActionMessage, WorkerDescription } from '../messages.js';
import type { FleetOperatorRuns } from '../operator-runs.js';
import { within } from '../within.js';
import { clusterOfWorkers, type WorkerCluster, whyNotTogether } from './cluster-of-workers.js';
import { type Condition, type FleetEvents, FleetMembers } from './fleet-members.js';
import { FleetModels } from './fleet-models.js';
import { FleetRecording } from './fleet-recording.js';
import type { WorkerLink } from './link/worker-link.js';
import { DynamicWorker, isPresent, isUsed, type Member, newMember } from './member.js';
import type { LinkOfKind } from './model-rollout.js';

/**
 * All workers as one cluster: numbers their GPUs, passes actions on and reports which GPUs are in service. Static
 * workers, known from the start, keep their numbers; dynamic ones register themselves, and come and go.
 */
export class Fleet {
  private readonly members: FleetMembers;
  private readonly recording = new FleetRecording();
  /** Called when a worker has come up. Set by the owner of its models. */
  workerCameUp: () => void = () => {};
  /** None until `assemble` has resolved. */
  models: FleetModels;

  /** `maxGpus`: limit on the cluster's GPUs with dynamic workers; null: there are none. */
  constructor(
    links: readonly WorkerLink[],
    private readonly maxGpus: number | null = null,
    private readonly time: Time = REAL_TIME,
  ) {
    this.models = new FleetModels([], () => [], 1, time);
    this.members = new FleetMembers(maxGpus, this.recording, () => this.workerCameUp());
    for (const link of links) this.members.add(newMember(link));
  }

  /**
   * Connects to all workers. Resolves with the cluster of those that respond in time, with GPU numbers for the others, which
   * may come later; rejects with `E_WORKER` if there are too few, or if they don't match. Those driven by another
   * controller count, too.
   */
  async assemble(nowNs: () => number, timeout: StartupTimeout): Promise<WorkerCluster> {
    const { members, maxGpus, time } = this;
    members.start(nowNs);
    await enoughInTime(members.list, members.changes, timeout, time);
    const { present, dynamic } = initialMembers(members.list, maxGpus);
    const most = Math.max(...present.map(({ description }) => description.gpus.length));
    for (const member of members.list) {
      if (member.isDynamic && !dynamic.has(member)) continue;
      member.known = member.description?.gpus.length ?? 0;
      const count = member.description?.gpus.length ?? most;
      members.gpuNumbers.grow(count);
      members.gpuNumbers.take(member, count);
    }
    const used = members.gpuNumbers.size;
    members.gpuNumbers.grow(Math.max(0, (maxGpus ?? 0) - used));
    const cluster = clusterOfWorkers(present, used, members.gpuNumbers.size - used);
    this.models = new FleetModels(cluster.models, () => this.linksForModels(), cluster.kinds.length, time);
    members.found(cluster, this.models);
    return cluster;
  }

  /** Starts notifying `events`, first of the current state. */
  begin(events: FleetEvents): void {
    this.members.begin(events);
  }

  /** Adds a worker that registered itself. */
  add(link: WorkerLink): DynamicWorker {
    const member = newMember(link, true);
    this.members.add(member);
    return new DynamicWorker(member, (worker, reason) => this.members.dismiss(worker, reason));
  }

  /** True if unknown workers may come. */
  get isOpen(): boolean {
    return this.maxGpus !== null;
  }

  /** State of a static worker, by its address or its process; null: unknown. */
  staticWorker(
    name: string,
    instance: string,
  ): { readonly hasJoined: boolean; readonly problem: string } | null {
    const known = this.members.list.filter(({ isDynamic }) => !isDynamic);
    const member = known.find((each) => each.link.name === name || each.instance === instance);
    return member === undefined ? null : { hasJoined: isUsed(member), problem: member.problem };
  }

  /** Number of GPUs that may still be added. */
  get room(): number {
    return this.members.room;
  }

  /** True if another controller drives the workers. */
  get isStandby(): boolean {
    return this.members.isStandby;
  }

  /** Resolves when this controller drives all present workers, or has driven one of them for `graceNs`. */
  async untilDriving(graceNs: number): Promise<void> {
    const { members } = this;
    await members.changes.holds(() => members.hasDriven);
    const there = members.list.filter(({ drivenBy, state }) => state !== null || drivenBy !== 'none');
    const all = members.changes.holds(() => there.every(({ state, hasLeft }) => state !== null || hasLeft));
    await within(this.time, all, graceNs);
  }

  /** Resolves when a worker is up that can be asked for models. */
  untilUp(): Promise<void> {
    return this.members.changes.holds(() => this.linksForModels().length > 0);
  }

  get gpusUp(): number {
    return this.members.up.size;
  }

  /** Names of the workers that are not up. */
  get away(): readonly string[] {
    return this.members.list.flatMap(({ link, state }) => (state === null ? link.name : []));
  }

  get links(): readonly WorkerLink[] {
    return this.members.list.map(({ link }) => link);
  }

  /** Name of the GPU's worker; empty: no worker has that GPU. */
  nameOf(gpu: number): string {
    return this.members.gpuNumbers.memberOf(gpu)?.link.name ?? '';
  }

  /** Name of the GPU's kind; empty: no worker has that GPU. */
  kindOf(gpu: number): string {
    const description = this.members.gpuNumbers.memberOf(gpu)?.description ?? null;
    return description === null ? '' : kindOfWorker(description);
  }

  /** Name of the GPU's device, for people. */
  deviceOf(gpu: number): string {
    const { gpuNumbers } = this.members;
    return gpuNumbers.memberOf(gpu)?.description?.gpus[gpuNumbers.localOf(gpu)]?.name ?? '';
  }

  /** Number of the GPU on its own worker. */
  localGpu(gpu: number): number {
    return this.members.gpuNumbers.localOf(gpu);
  }

  /** Queues a message for the next `flush`. `message.gpu` is the number on the worker. */
  post(gpu: number, message: ActionMessage): void {
    this.members.gpuNumbers.memberOf(gpu)?.outbox.push(message);
  }

  flush(): void {
    for (const member of this.members.list) {
      if (member.outbox.length === 0) continue;
      const actions = member.outbox;
      member.outbox = [];
      if (member.state !== null) member.link.send(actions);
    }
  }

  /** Restarts the worker of a GPU that does not answer. */
  restart(gpu: number, reason: string): void {
    this.members.gpuNumbers.memberOf(gpu)?.link.restart(reason, null);
  }

  /** Gives up a GPU, but not others of its worker; it is retried later. */
  giveUp(gpu: number, reason: string): void {
    const { gpuNumbers } = this.members;
    gpuNumbers.memberOf(gpu)?.link.restart(reason, gpuNumbers.localOf(gpu));
  }

  /** Records the operators of INFERs from now on, also on workers that come up later. No effect while recording. */
  startRecording(): void {
    this.recording.start(this.links);
  }

  /** Returns the recordings of all workers, by the controller's clock. Never rejects. */
  stopRecording(): Promise<FleetOperatorRuns> {
    return this.recording.stop(this.links);
  }

  close(): Promise<void> {
    return this.members.close();
  }

  /** Workers that are up. If none is, those waiting because their files are newer than the cluster's. */
  private linksForModels(): LinkOfKind[] {
    const { list } = this.members;
    const up = list.filter(({ state }) => state !== null);
    return (up.length > 0 ? up : list.filter(({ isAligning }) => isAligning)).map(({ link, kind }) => ({
      link,
      kind,
    }));
  }
}

interface InitialMembers {
  /** Workers that make up the cluster. */
  readonly present: readonly { readonly name: string; readonly description: WorkerDescription }[];
  /** Dynamic workers among them. */
  readonly dynamic: ReadonlySet<Member>;
}

/**
 * Workers that make up the cluster: all static ones that have come, and the dynamic ones that fit, as far as there is
 * room. If no static one has come, the first dynamic one decides what the others must be.
 */
function initialMembers(members: readonly Member[], maxGpus: number | null): InitialMembers {
  const present: { readonly name: string; readonly description: WorkerDescription }[] = [];
  const dynamic = new Set<Member>();
  let gpus = 0;
  for (const member of members.toSorted((a, b) => Number(a.isDynamic) - Number(b.isDynamic))) {
    const { description, isDynamic, link } = member;
    if (description === null) continue;
    const wanted = gpus + description.gpus.length;
    const isFitting = present.length === 0 || whyNotTogether(present[0].description, description) === '';
    if (isDynamic && present.length > 0 && (!isFitting || wanted > (maxGpus ?? 0))) continue;
    if (isDynamic) dynamic.add(member);
    gpus = wanted;
    present.push({ name: link.name, description });
  }
  return { present, dynamic };
}

/** Time for workers to come, and how many of them must. */
interface StartupTimeout {
  /** Rejects if fewer are present by then; null: waits indefinitely. */
  readonly timeoutNs: number | null;
  /** Minimum number of workers. Default: all. */
  readonly minWorkers?: number;
  /** Further time for the others once these are present. */
  readonly graceNs?: number;
}

/** Resolves when enough of the members, whose number may grow, are present. Rejects with `E_WORKER`. */
async function enoughInTime(
  members: readonly Member[],
  changes: Condition,
  { timeoutNs, minWorkers = members.length, graceNs = 0 }: StartupTimeout,
  time: Time,
): Promise<void> {
  const enough = changes.holds(() => members.filter(isPresent).length >= minWorkers);
  if (timeoutNs === null) await enough;
  else if (!(await within(time, enough, timeoutNs))) {
    const missing = members.filter((each) => !isPresent(each)).map(({ link }) => link.name);
    throw notAllThere(missing, timeoutNs);
  }
  if (graceNs > 0)
    await within(
      time,
      changes.holds(() => members.every(isPresent)),
      graceNs,
    );
}

function notAllThere(missing: readonly string[], timeoutNs: number): EscapementError {
  return new EscapementError(
    'E_WORKER',
    `no answer from ${missing.join(', ')} within ${timeoutNs / NS_PER_MS} ms: is \`escapement worker\` running there?`,
  );
}
