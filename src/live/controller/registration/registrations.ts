import type { Clock } from '../../../base/clock/clock.js';
import { NS_PER_MS, NS_PER_S } from '../../../base/units.js';
import type { Timer } from '../../../base/world/time.js';
import type { WireLease } from '../../wire/protocol.js';
import type { Fleet } from '../fleet.js';
import type { FleetWorker, Registration } from '../fleet-worker.js';
import type { WorkerLink } from '../link/worker-link.js';

/** Lease: silence after which an unconnected worker is considered gone. */
const LEASE_NS = 5 * NS_PER_S;
/** Reason given for a worker that died or was cut off. */
export const LEASE_HAS_ENDED = 'its lease has ended';
/** Limits on registrations, and on those of one host that have not led to a worker. */
const MOST_REGISTERED = 1024;
const MOST_OF_HOST = 64;
/** Time that a leaving worker gets to finish its actions. */
const DRAIN_NS = 30 * NS_PER_S;
const TICK_MS = 100;

interface RegistrationEvents {
  joined(name: string): void;
  left(name: string, why: string): void;
  /** Reports a worker that is not used, when the reason changes. */
  refused(name: string, why: string): void;
  /** Reports a rejected registration from that host, each time. */
  turnedAway(host: string, why: string): void;
}

/** Reasons to reject a registration; `protocol`: another version, or foreign headers. */
type TurnedAway = 'token' | 'protocol' | 'address' | 'too_many';

type RegistrationFleet = Pick<Fleet, 'add' | 'leave' | 'mayDial' | 'staticWorker'>;

interface RegistrationsOptions {
  /** Connects to such a worker; `complain` receives the reasons for failures. */
  readonly newLink: (registration: Registration, complain: (what: string) => void) => WorkerLink;
  readonly clock: Pick<Clock, 'nowNs' | 'time'>;
  readonly events: RegistrationEvents;
}

/** Workers of a fleet that register: they are added, and removed when they leave or their leases end. */
export class Registrations {
  /** Number that have joined and left so far. */
  joined = 0;
  left = 0;
  /** Number of those that left without notice. */
  lost = 0;
  /** Rejected registrations by reason. */
  readonly turnedAway: Record<TurnedAway, number> = { token: 0, protocol: 0, address: 0, too_many: 0 };
  private fleet: RegistrationFleet | null = null;
  /** By address. */
  private readonly workers = new Map<string, FleetWorker>();
  private readonly timer: Timer;

  constructor(private readonly options: RegistrationsOptions) {
    this.timer = options.clock.time.every(TICK_MS, () => this.tick());
  }

  /** Starts to accept workers. Those that registered before do so again within a second. */
  begin(fleet: RegistrationFleet): void {
    this.fleet = fleet;
  }

  /** Renews a worker's lease. Returns its state. One registered at another address counts as that. */
  renew(registration: Registration): WireLease {
    const { fleet } = this;
    if (fleet === null) return lease(false, '');
    const { address, instance, host } = registration;
    const nowNs = this.options.clock.nowNs();
    const known = this.workers.get(address);
    const staticWorker = fleet.staticWorker(address, instance);
    if (staticWorker !== null) {
      if (known !== undefined) this.end(known, 'it is known from the start');
      return lease(staticWorker.hasJoined, staticWorker.problem);
    }
    if (known?.registration?.instance === instance) {
      known.renewedNs = nowNs;
      return lease(known.everJoined, known.trouble);
    }
    if (known?.isConnected === true) {
      const what = `it claims to serve at ${address}, where another worker is connected`;
      this.turnAway('address', host, `${what}: give each worker its own --advertise`);
      return lease(false, 'another worker is connected at this address');
    }
    if (known !== undefined) this.lose(known, 'another process has its address');
    const elsewhere = [...this.workers.values()].find((each) => each.registration?.instance === instance);
    if (elsewhere !== undefined) return lease(elsewhere.everJoined, elsewhere.trouble);
    const problem = this.whyFull(host);
    if (problem !== '') {
      this.turnAway('too_many', host, problem);
      return lease(false, problem);
    }
    if (!fleet.mayDial) return lease(false, 'others are dialed first');
    const worker = fleet.add(registration, (complain) => this.options.newLink(registration, complain));
    worker.renewedNs = nowNs;
    this.workers.set(address, worker);
    return lease(false, '');
  }

  /** Call when the worker will shut down. */
  leave({ address, instance }: Registration): void {
    const worker = this.workers.get(address);
    if (worker?.registration?.instance !== instance || worker.leaving !== '') return;
    worker.leaving = 'it shuts down';
    worker.leftNs = this.options.clock.nowNs();
    this.fleet?.leave(worker, null);
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
    for (const worker of [...this.workers.values()]) this.follow(worker, nowNs);
  }

  private follow(worker: FleetWorker, nowNs: number): void {
    const { events } = this.options;
    const { name } = worker;
    if (!worker.everJoined && worker.hasJoined) {
      worker.everJoined = true;
      this.joined++;
      events.joined(name);
    }
    if (worker.isConnected) worker.complaint = '';
    const { trouble, everJoined, leaving } = worker;
    if (!everJoined && !worker.isUp && trouble !== '' && trouble !== worker.logged) {
      worker.logged = trouble;
      events.refused(name, trouble);
    }
    if (worker.hasLeft) this.end(worker, leaving || worker.problem);
    else if (leaving !== '' && nowNs - worker.leftNs > DRAIN_NS) this.end(worker, leaving);
    else if (leaving === '' && !worker.isConnected && nowNs - worker.renewedNs > LEASE_NS)
      this.lose(worker, LEASE_HAS_ENDED);
  }

  /** Removes the worker; not counted as a loss if it was announced. */
  private lose(worker: FleetWorker, why: string): void {
    if (worker.everJoined && worker.leaving === '') this.lost++;
    this.end(worker, why);
  }

  private end(worker: FleetWorker, why: string): void {
    const { name } = worker;
    this.workers.delete(name);
    this.fleet?.leave(worker, why);
    if (!worker.everJoined) return;
    this.left++;
    this.options.events.left(name, why);
  }

  private whyFull(host: string): string {
    if (this.workers.size >= MOST_REGISTERED) return `${MOST_REGISTERED} workers are registered already`;
    const others = [...this.workers.values()].filter(
      ({ registration, hasGpuNumbers, everJoined }) =>
        registration?.host === host && !hasGpuNumbers && !everJoined,
    );
    if (others.length < MOST_OF_HOST) return '';
    return `${others.length} others have registered from ${host}, and none of them has joined`;
  }
}

function lease(joined: boolean, problem: string): WireLease {
  return { leaseMs: LEASE_NS / NS_PER_MS, joined, problem };
}
