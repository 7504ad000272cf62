import type { History, HistoryEvent, ProcessLife } from '../history/history.js';
import type { Scenario } from '../scenario/scenario.js';
import { type Check, Findings } from './finding.js';
import { AGREE_NS, mayChangeDriver } from './reasons.js';

/** What was heard on one stream between a controller and a worker. */
interface Stream {
  readonly controller: ProcessLife;
  readonly worker: ProcessLife;
  /** Actions that reached the worker on it. */
  readonly arrived: Set<number>;
  isOpen: boolean;
}

/**
 * A worker has one driver at a time: what begins on its devices was ordered by the stream that became the driver last; no
 * action begins twice; results go only to the stream that ordered the action; a
 * lease that is taken goes to a higher term, or with equal terms to a later name, and only after something went wrong.
 */
export const oneDriver: Check = {
  name: 'one driver',
  run(history: History) {
    return new DriverCheck(history.scenario).run(history);
  },
};

type LeaseSaid = Extract<HistoryEvent, { readonly kind: 'leaseSaid' }>;

class DriverCheck {
  private readonly findings = new Findings('one driver');
  private readonly streams = new Map<number, Stream>();
  /** By worker: the stream that it has declared itself idle for last. */
  private readonly drivers = new Map<ProcessLife, number>();
  /** By worker: what it has said of its lease last. */
  private readonly leases = new Map<ProcessLife, LeaseSaid>();
  /** By worker: when its lease was free last. */
  private readonly freeNs = new Map<ProcessLife, number>();
  /** Actions that began, by stream and action. */
  private readonly begun = new Set<string>();

  constructor(private readonly scenario: Scenario) {}

  run({ events }: History) {
    for (const event of events) {
      if (event.kind === 'streamOpened') {
        const { controller, worker } = event;
        this.streams.set(event.stream, { controller, worker, arrived: new Set(), isOpen: true });
      } else if (event.kind === 'stateSaid') this.becameDriver(event.stream);
      else if (event.kind === 'leaseSaid') this.saidLease(event);
      else if (event.kind === 'actionsArrived') {
        for (const action of event.actions) this.streams.get(event.stream)?.arrived.add(action);
      } else if (event.kind === 'resultsSent') this.sentResults(event.stream, event.actions, event.atNs);
      else if (event.kind === 'began') this.began(event.process, event.action, event.what, event.atNs);
    }
    return this.findings.list;
  }

  private becameDriver(stream: number): void {
    const worker = this.streams.get(stream)?.worker;
    if (worker !== undefined) this.drivers.set(worker, stream);
  }

  private saidLease(lease: LeaseSaid): void {
    const worker = this.streams.get(lease.stream)?.worker;
    if (worker === undefined) return;
    const before = this.leases.get(worker);
    this.leases.set(worker, lease);
    if (lease.driver === '') this.freeNs.set(worker, lease.atNs);
    if (before === undefined || before.driver === '' || lease.driver === '') return;
    if (before.driver === lease.driver) return;
    const isAllowed = outranks(lease, before);
    const wasFreeNs = this.freeNs.get(worker) ?? Number.NEGATIVE_INFINITY;
    const isAgreedOn = lease.atNs >= wasFreeNs + AGREE_NS;
    if (isAllowed && (!isAgreedOn || mayChangeDriver(this.scenario, lease.atNs))) return;
    const what = `${worker} is taken from ${before.driver} (term ${before.term}) by ${lease.driver} (term ${lease.term})`;
    this.findings.add(lease.atNs, isAllowed ? `${what}, without a reason for that` : what);
  }

  private began(worker: ProcessLife, action: number, what: string, atNs: number): void {
    const driver = this.drivers.get(worker);
    const stream = driver === undefined ? undefined : this.streams.get(driver);
    const concerns = (event: object) => 'action' in event && event.action === action;
    if (stream === undefined || !stream.arrived.has(action)) {
      const whose = stream === undefined ? 'no controller drives it' : `${stream.controller} drives it`;
      this.findings.add(
        atNs,
        `${worker} begins ${what} ${action}, which its driver did not order: ${whose}`,
        concerns,
      );
      return;
    }
    const key = `${driver} ${action}`;
    if (this.begun.has(key))
      this.findings.add(atNs, `${worker} begins ${what} ${action} for the second time`, concerns);
    this.begun.add(key);
  }

  private sentResults(stream: number, actions: readonly number[], atNs: number): void {
    const known = this.streams.get(stream);
    if (known === undefined) return;
    for (const action of actions) {
      if (known.arrived.delete(action)) continue;
      const what = `${known.worker} sends ${known.controller} a result of action ${action}, which it did not order or has had already`;
      this.findings.add(atNs, what);
    }
  }
}

function outranks(one: LeaseSaid, other: LeaseSaid): boolean {
  return one.term === other.term ? one.driver > other.driver : one.term > other.term;
}
