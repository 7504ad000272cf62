import type { Clock } from '../../../base/clock/clock.js';
import { NS_PER_MS, NS_PER_S } from '../../../base/units.js';
import type { Timer } from '../../../base/world/time.js';
import { Repeats } from '../../repeats.js';
import type { WireLease } from '../../wire/protocol.js';
import { noRoom } from '../fleet.js';
import type { FleetWorker } from '../fleet-worker.js';
import { Backoff } from '../link/backoff.js';
import type { WorkerLink } from '../link/worker-link.js';

/** Lease: silence after which an unconnected worker is considered gone. */
export const LEASE_NS = 5 * NS_PER_S;
/** Reason given for a worker that died or was cut off. */
export const LEASE_HAS_ENDED = 'its lease has ended';
/** Limits on registrations, and on those of one host that have not led to a worker. */
const MOST_REGISTERED = 1024;
const MOST_OF_HOST = 64;
/** Limit on concurrent dials of addresses from which no worker has answered yet. */
const MOST_DIALED = 16;
/** Dial timeout, and pause before such an address is retried. */
const DIAL_NS = 5 * NS_PER_S;
const REDIAL_NS = 10 * NS_PER_S;
/** Time that a leaving worker gets to finish its actions. */
const DRAIN_NS = 30 * NS_PER_S;
/** Initial pause before a worker that left is taken back; doubles each time up to the maximum. */
const FIRST_REST_MS = 100;
const LONGEST_REST_MS = 10_000;
const TICK_MS = 100;

/** A worker's registration. */
export interface Registration {
  /** HOST:PORT at which it serves. */
  readonly address: string;
  /** Name of its process. */
  readonly instance: string;
  /** Source host of the registration. */
  readonly host: string;
}

/** A registered worker, as far as its registration depends on it. */
type RegisteredWorker = Pick<
  FleetWorker,
  | 'hasGpuNumbers'
  | 'hasJoined'
  | 'isMet'
  | 'isConnected'
  | 'problem'
  | 'gpusWithoutRoom'
  | 'hasLeft'
  | 'leave'
>;

/** Host of registered workers: the fleet. */
export interface Host {
  /** Number of GPUs that may still be added. */
  readonly room: number;
  /** State of a static worker, by its address or its process; null: unknown. */
  staticWorker(name: string, instance: string): Pick<FleetWorker, 'hasJoined' | 'problem'> | null;
  add(link: WorkerLink): RegisteredWorker;
}

interface RegistrationEvents {
  joined(name: string): void;
  left(name: string, why: string): void;
  /** Reports a refused worker, without repetitions. */
  refused(name: string, why: string): void;
  /** Reports a rejected registration from that host, each time. */
  turnedAway(host: string, why: string): void;
}

/** Reasons to reject a registration; `protocol`: another version, or foreign headers. */
type TurnedAway = 'token' | 'protocol' | 'address' | 'too_many';

interface RegistrationsOptions {
  /** Connects to such a worker; `complain` receives the reasons for failures. */
  readonly newLink: (registration: Registration, complain: (what: string) => void) => WorkerLink;
  readonly clock: Pick<Clock, 'nowNs' | 'time'>;
  readonly events: RegistrationEvents;
}

/** Registered workers and their lifecycle: they are dialed, join if they fit, and leave when their leases end. */
export class Registrations {
  /** Number that have joined and left so far. */
  joined = 0;
  left = 0;
  /** Number of those that left without notice. */
  lost = 0;
  /** Rejected registrations by reason. */
  readonly turnedAway: Record<TurnedAway, number> = { token: 0, protocol: 0, address: 0, too_many: 0 };
  private host: Host | null = null;
  /** By address. */
  private readonly entries = new Map<string, Entry>();
  private readonly rests = new Map<string, { readonly backoff: Backoff; untilNs: number }>();
  private readonly repeats = new Repeats();
  private readonly timer: Timer;

  constructor(private readonly options: RegistrationsOptions) {
    this.timer = options.clock.time.every(TICK_MS, () => this.tick());
  }

  /** Starts to accept workers. */
  begin(host: Host): void {
    this.host = host;
    this.tick();
  }

  /** Renews a worker's lease. Returns its state. One registered at another address counts as that. */
  renew(registration: Registration): WireLease {
    const { address, instance } = registration;
    const nowNs = this.options.clock.nowNs();
    const known = this.entries.get(address);
    const staticWorker = this.host?.staticWorker(address, instance) ?? null;
    if (staticWorker !== null) {
      if (known !== undefined) this.end(known, 'it is known from the start');
      return lease(staticWorker.hasJoined, staticWorker.problem);
    }
    if (known?.instance === instance) {
      known.renewedNs = nowNs;
      return lease(known.hasJoined, known.problem);
    }
    if (known?.worker?.isConnected === true) {
      const what = `it claims to serve at ${address}, where another worker is connected`;
      this.turnAway('address', registration.host, `${what}: give each worker its own --advertise`);
      return lease(false, 'another worker is connected at this address');
    }
    if (known !== undefined) this.lose(known, 'another process has its address');
    const elsewhere = [...this.entries.values()].find((entry) => entry.instance === instance);
    if (elsewhere !== undefined) return lease(elsewhere.hasJoined, elsewhere.problem);
    const problem = this.whyFull(registration);
    if (problem !== '') {
      this.turnAway('too_many', registration.host, problem);
      return lease(false, problem);
    }
    const entry = new Entry(registration, nowNs, this.rests.get(address)?.untilNs ?? 0);
    this.entries.set(address, entry);
    this.tick();
    return lease(false, entry.problem);
  }

  /** Call when the worker will shut down. */
  leave({ address, instance }: Registration): void {
    const entry = this.entries.get(address);
    if (entry === undefined || entry.instance !== instance || entry.leaving !== '') return;
    entry.leaving = 'it shuts down';
    entry.leftNs = this.options.clock.nowNs();
    entry.worker?.leave(null);
    this.tick();
  }

  /** Rejects a registration from that host. */
  turnAway(why: TurnedAway, host: string, what: string): void {
    this.turnedAway[why]++;
    this.options.events.turnedAway(host, what);
  }

  close(): void {
    this.timer.cancel();
  }

  private tick(): void {
    const nowNs = this.options.clock.nowNs();
    let dialed = 0;
    for (const entry of [...this.entries.values()]) {
      if (entry.worker === null) this.consider(entry, nowNs, dialed);
      else this.follow(entry, entry.worker, nowNs);
      if (entry.worker !== null && !entry.worker.isMet) dialed++;
    }
  }

  /** Decides about an entry that is not dialed. */
  private consider(entry: Entry, nowNs: number, dialed: number): void {
    const { host } = this;
    if (entry.leaving !== '' || nowNs - entry.renewedNs > LEASE_NS) {
      this.entries.delete(entry.address);
      return;
    }
    if (host === null || entry.isRefused || nowNs < entry.notBeforeNs) return;
    if (host.room < Math.max(1, entry.gpus)) this.awaitRoom(entry, host.room);
    else if (dialed < MOST_DIALED) {
      entry.complaint = '';
      entry.dialedNs = nowNs;
      const complain = (what: string) => {
        entry.complaint = what;
      };
      entry.worker = host.add(this.options.newLink(entry, complain));
    }
  }

  /** The reason for waiting may change; that it waits is reported once. */
  private awaitRoom(entry: Entry, room: number): void {
    const problem = noRoom(entry.gpus, room);
    if (!entry.awaitsRoom) this.refuse(entry, problem);
    entry.awaitsRoom = true;
    entry.problem = problem;
  }

  private follow(entry: Entry, worker: RegisteredWorker, nowNs: number): void {
    const { events } = this.options;
    entry.hadGpuNumbers ||= worker.hasGpuNumbers;
    if (!entry.hasJoined && worker.hasJoined) {
      entry.hasJoined = true;
      this.joined++;
      events.joined(entry.address);
    }
    if (worker.isConnected) entry.complaint = '';
    entry.problem = worker.problem || (entry.hasJoined ? entry.complaint : '');
    if (worker.hasLeft) this.hasGone(entry, nowNs);
    else if (entry.leaving !== '' && nowNs - entry.leftNs > DRAIN_NS) worker.leave(entry.leaving);
    else if (!worker.isMet && entry.complaint !== '' && nowNs - entry.dialedNs > DIAL_NS) {
      worker.leave('it does not answer');
      entry.worker = null;
      this.refuse(entry, `no worker answers at ${entry.address}: ${entry.complaint}`);
      entry.notBeforeNs = nowNs + REDIAL_NS;
    } else if (!worker.isConnected && nowNs - entry.renewedNs > LEASE_NS) this.lose(entry, LEASE_HAS_ENDED);
  }

  /** Call when its worker has left: as intended, or because it does not fit the cluster. */
  private hasGone(entry: Entry, nowNs: number): void {
    const { worker } = entry;
    if (entry.leaving !== '') {
      this.end(entry, entry.leaving);
      return;
    }
    if (entry.hadGpuNumbers) this.rest(entry.address, nowNs);
    entry.worker = null;
    if (worker !== null && worker.gpusWithoutRoom > 0) {
      // It is dialed again when there is room. Learning its number of GPUs is worth a report.
      if (entry.gpus !== worker.gpusWithoutRoom) entry.awaitsRoom = false;
      entry.gpus = worker.gpusWithoutRoom;
      this.awaitRoom(entry, this.host?.room ?? 0);
      return;
    }
    entry.isRefused = true;
    this.refuse(entry, worker?.problem ?? '');
  }

  /** Removes the entry; not counted as a loss if it was announced. */
  private lose(entry: Entry, why: string): void {
    if (entry.hasJoined && entry.leaving === '') this.lost++;
    this.end(entry, why);
  }

  private end(entry: Entry, why: string): void {
    this.entries.delete(entry.address);
    entry.worker?.leave(why);
    if (entry.hadGpuNumbers) this.rest(entry.address, this.options.clock.nowNs());
    if (!entry.hasJoined) return;
    this.left++;
    this.options.events.left(entry.address, why);
  }

  private refuse(entry: Entry, problem: string): void {
    entry.problem = problem;
    if (this.repeats.toSay(`${entry.address} ${problem}`, this.options.clock.nowNs()) > 0)
      this.options.events.refused(entry.address, problem);
  }

  /** Lengthens the pause of a worker that comes and goes. */
  private rest(address: string, nowNs: number): void {
    const rest = this.rests.get(address) ?? {
      backoff: new Backoff(FIRST_REST_MS, LONGEST_REST_MS),
      untilNs: 0,
    };
    rest.untilNs = nowNs + rest.backoff.delayMs(nowNs) * NS_PER_MS;
    this.rests.set(address, rest);
    if (this.rests.size <= MOST_REGISTERED) return;
    for (const [other, { untilNs }] of this.rests)
      if (nowNs - untilNs > 2 * LONGEST_REST_MS * NS_PER_MS) this.rests.delete(other);
  }

  private whyFull({ host }: Registration): string {
    if (this.entries.size >= MOST_REGISTERED) return `${MOST_REGISTERED} workers are registered already`;
    const others = [...this.entries.values()].filter((entry) => entry.host === host && !entry.hadGpuNumbers);
    if (others.length < MOST_OF_HOST) return '';
    return `${others.length} others have registered from ${host}, and none of them has joined`;
  }
}

function lease(joined: boolean, problem: string): WireLease {
  return { leaseMs: LEASE_NS / NS_PER_MS, joined, problem };
}

/** A registration and its state. */
class Entry implements Registration {
  readonly address: string;
  readonly instance: string;
  readonly host: string;
  /** Null: not dialed. */
  worker: RegisteredWorker | null = null;
  /** True if its GPUs have had numbers in the cluster: a worker serves there. */
  hadGpuNumbers = false;
  hasJoined = false;
  /** Number of its GPUs, if known: with less room it is not dialed. */
  gpus = 0;
  /** True if it was refused for lack of room, which was logged. */
  awaitsRoom = false;
  /** True if it does not fit the cluster, and never will. */
  isRefused = false;
  /** Reason why it is not used, for people; empty: none known. */
  problem = '';
  /** Complaint of its link about the address. */
  complaint = '';
  /** Reason why it leaves; empty: it stays. */
  leaving = '';
  leftNs = 0;
  dialedNs = 0;

  constructor(
    { address, instance, host }: Registration,
    public renewedNs: number,
    /** Earliest time to dial it. */
    public notBeforeNs: number,
  ) {
    this.address = address;
    this.instance = instance;
    this.host = host;
  }
}
