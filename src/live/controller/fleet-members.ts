import type { ResultMessage, WorkerDescription, WorkerState } from '../messages.js';
import { WORKER_SHUTS_DOWN } from '../wire/protocol.js';
import { kindIn, pagesIn, type WorkerCluster, whyNotFitting } from './cluster-of-workers.js';
import type { FleetEvents } from './fleet-events.js';
import type { FleetModels } from './fleet-models.js';
import type { FleetRecording } from './fleet-recording.js';
import type { Driving, ReturnedInputs } from './link/worker-link.js';
import { isConnected, type Member } from './member.js';
import { noRoom } from './no-room.js';
import { Standing } from './standing.js';
import { TakingOn } from './taking-on.js';
import { Until } from './until.js';

/**
 * Workers of a fleet and their state: each is contacted, accepted if it fits the cluster, goes down, comes back. A
 * dynamic worker that is down for good makes room for others.
 */
export class FleetMembers {
  readonly list: Member[] = [];
  readonly places = new Places();
  /** GPUs in service. */
  readonly up = new Set<number>();
  /** Changes of members. */
  readonly changes = new Until();
  readonly standing = new Standing();
  events: FleetEvents | null = null;
  /** True once a worker has been accepted. */
  hasDriven = false;
  private cluster: WorkerCluster | null = null;
  private takingOn: TakingOn | null = null;
  /** Clock of the controller; null before connecting. */
  private nowNs: (() => number) | null = null;
  /** Links of departed dynamic workers, still closing. */
  private readonly closing = new Set<Promise<void>>();

  constructor(
    /** Limit on GPUs with dynamic workers; null: there are none. */
    private readonly maxGpus: number | null,
    private readonly recording: FleetRecording,
    /** Called when a worker has come up. */
    private readonly tookOn: () => void,
  ) {}

  /** Number of GPUs for which there is room. */
  get room(): number {
    return this.cluster === null ? (this.maxGpus ?? 0) : this.places.free;
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

  /** Lets the cluster decide which workers are accepted. Those it was made of keep their places. */
  found(cluster: WorkerCluster, models: FleetModels): void {
    this.cluster = cluster;
    for (const member of this.list)
      if (member.description !== null) member.kind = Math.max(0, kindIn(cluster, member.description));
    this.takingOn = new TakingOn(models, {
      ready: (member, state) => this.takeOn(member, state),
      failed: (member, reason) => this.complain(member, `is not accepted: ${reason}`, reason),
      modelFound: (index, model) => this.events?.modelFound(index, model) ?? false,
    });
    for (const member of [...this.list])
      if (member.places.length === 0 && member.description !== null) this.admit(member, member.description);
  }

  /** Starts notifying `events`, first of the current state. */
  begin(events: FleetEvents): void {
    this.events = events;
    for (const member of [...this.list])
      if (member.state !== null) this.takingOn?.begin(member, member.state);
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
        down: (reason, gpu, returned) => this.wentDown(member, reason, gpu, returned),
      },
      nowNs,
    );
  }

  /** Handles the description of a member with a place, or of one that decides what others must be. */
  private met(member: Member, description: WorkerDescription): void {
    this.name(member, description);
    if (this.cluster !== null && member.places.length > 0) return;
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
    if (this.events !== null) this.takingOn?.begin(member, state);
    this.changes.check();
  }

  /** Names the member. Two links to one worker would compete for its seat: the static one stays. */
  private name(member: Member, { instance = '' }: WorkerDescription): void {
    member.instance = instance;
    if (member.isDynamic || instance === '') return;
    for (const twin of this.list.filter((each) => each.isDynamic && each.instance === instance)) {
      twin.problem = `it is worker ${member.link.name}, which is known from the start`;
      this.dismiss(twin, twin.problem);
    }
  }

  /** True if the worker fits the cluster, and has its places. A dynamic worker that does not fit is dismissed. */
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
    const { cluster, places, room } = this;
    const { length } = description.gpus;
    const different = cluster === null ? '' : whyNotFitting(cluster, description);
    if (different !== '') return different;
    if (cluster !== null) member.kind = kindIn(cluster, description);
    if (member.places.length > 0) return '';
    const hasRoom = cluster === null ? !member.isDynamic || length <= room : places.take(member, length);
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
      isTakenOn: false,
    });
    member.life++;
    this.list.splice(this.list.indexOf(member), 1);
    if (member.places.length > 0) this.events?.workerLeft(link.name);
    this.places.giveBack(member);
    const closed = link.close().finally(() => this.closing.delete(closed));
    this.closing.add(closed);
    this.changed();
  }

  private changed(): void {
    this.changes.check();
    if (this.standing.follow(this.list)) this.events?.standsBy(this.standing.by);
  }

  private takeOn(member: Member, { present }: WorkerState): void {
    const { places } = member;
    member.problem = '';
    member.isTakenOn = true;
    const { cluster } = this;
    const counted = cluster === null ? Number.POSITIVE_INFINITY : pagesIn(cluster.spec, member.kind);
    const unused = pagesNotUsed(member, counted);
    this.events?.worker(member.link.name, true, `is up${changeOfGpus(member, present.length)}${unused}`);
    member.known = Math.max(member.known, Math.min(present.length, places.length));
    this.recording.cameUp(member.link);
    present.slice(0, places.length).forEach((models, local) => {
      this.up.add(places[local]);
      this.events?.gpuUp(places[local], models, member.kind);
    });
    this.hasDriven = true;
    this.changes.check();
    this.tookOn();
  }

  private wentDown(member: Member, reason: string, local: number | null, returned?: ReturnedInputs): void {
    if (local !== null && local >= member.places.length) return;
    const gpus = local === null ? member.places : [member.places[local]];
    if (local === null) {
      Object.assign(member, { state: null, isAligning: false, isTakenOn: false });
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
      this.events?.gpuDown(gpu, reason, returned);
    }
    if (local === null && member.isLeaving) this.discard(member);
  }

  private passOn({ places }: Member, results: readonly ResultMessage[]): void {
    // They ascend: nothing is to be renumbered where the last one has its own number.
    const isSame = places.at(-1) === places.length - 1;
    this.events?.results(isSame ? results : results.map((r) => ({ ...r, gpu: places[r.gpu] })));
  }
}

function changeOfGpus({ places, known }: Member, now: number): string {
  const extra = now - places.length;
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

/** Numbers of GPUs in the cluster and on workers. Those of a worker that left are free; the lowest goes first. */
class Places {
  /** By GPU of the cluster; null: free. */
  private readonly held: ({ readonly member: Member; readonly local: number } | null)[] = [];

  /** Number of GPUs that the cluster has numbers for. */
  get size(): number {
    return this.held.length;
  }

  get free(): number {
    return this.held.reduce((count, place) => count + (place === null ? 1 : 0), 0);
  }

  /** Adds free numbers. */
  grow(count: number): void {
    for (let i = 0; i < count; i++) this.held.push(null);
  }

  /** Assigns numbers to the member's GPUs. False if too few are free. */
  take(member: Member, count: number): boolean {
    const places = this.held.flatMap((place, gpu) => (place === null ? gpu : [])).slice(0, count);
    if (places.length < count) return false;
    member.places = places;
    for (const [local, gpu] of places.entries()) this.held[gpu] = { member, local };
    return true;
  }

  /** Frees the member's numbers. */
  giveBack(member: Member): void {
    for (const gpu of member.places) this.held[gpu] = null;
    member.places = [];
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
