import type { WorkerState } from '../../messages.js';
import { type LeaseState, outranks } from '../../wire/protocol.js';
import type { Machine, MachineEvents } from '../machine.js';

/** A controller's stream, which may drive a machine. */
export interface Driver extends MachineEvents, LeaseCandidate {}

/** A machine driven by one controller at a time: only the driver gets its events. */
export class MachineEndpoint {
  readonly lease = new LeaderLease();
  private quiescing: Promise<unknown> = Promise.resolve();

  constructor(readonly machine: Machine) {}

  /** True if `driver` drives the machine from now on. */
  take(driver: Driver, term: number): boolean {
    const isNew = !this.lease.isDriver(driver);
    if (!this.lease.take(driver, term)) return false;
    // Answers to calls of an earlier driver are not for this one.
    if (isNew) this.machine.attach(NO_DRIVER);
    return true;
  }

  /** Makes the machine idle for its driver, after all earlier calls, including those of another driver. */
  quiesce(driver: Driver): Promise<WorkerState> {
    const quiesced = this.quiescing.then(async () => {
      const state = await this.machine.quiesce();
      if (this.lease.isDriver(driver)) this.machine.attach(driver);
      return state;
    });
    this.quiescing = quiesced.catch(() => {});
    return quiesced;
  }
}

const NO_DRIVER: MachineEvents = { results: () => {}, gpuDown: () => {} };

/** A controller's stream, which may have the lease. */
export interface LeaseCandidate {
  readonly controller: string;
  /** Another controller has the lease now. */
  deposed(): void;
  /** The lease has changed hands. */
  leaseChanged(state: LeaseState): void;
}

/** Leader lease of a worker: determines which of the connected controllers drives it. */
export class LeaderLease {
  private readonly candidates = new Set<LeaseCandidate>();
  private driver: LeaseCandidate | null = null;
  private term = 0;

  get state(): LeaseState {
    return { term: this.term, controller: this.driver?.controller ?? '' };
  }

  isDriver(candidate: LeaseCandidate): boolean {
    return this.driver === candidate;
  }

  enter(candidate: LeaseCandidate): void {
    this.candidates.add(candidate);
  }

  /** True if it drives the worker from now on. */
  take(candidate: LeaseCandidate, term: number): boolean {
    const { driver } = this;
    if (driver === candidate) return true;
    if (driver !== null && !mayReplace({ term, controller: candidate.controller }, this.state)) return false;
    this.driver = candidate;
    this.term = term;
    driver?.deposed();
    this.announce();
    return true;
  }

  leave(candidate: LeaseCandidate): void {
    this.candidates.delete(candidate);
    if (this.driver !== candidate) return;
    this.driver = null;
    this.announce();
  }

  private announce(): void {
    const { state } = this;
    for (const candidate of [...this.candidates]) candidate.leaseChanged(state);
  }
}

/** True if a controller replaces its own connection, which broke silently. */
function mayReplace(one: LeaseState, driver: LeaseState): boolean {
  return one.controller === driver.controller || outranks(one, driver);
}
