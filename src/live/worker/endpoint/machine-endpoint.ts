import type { WorkerState } from '../../messages.js';
import { type LeaseState, outranks } from '../../wire/protocol.js';
import type { Machine, MachineEvents } from '../machine.js';

/** A controller's stream, which may drive a machine. */
export interface Driver extends MachineEvents {
  readonly controller: string;
  /** Another controller drives the machine now. */
  deposed(): void;
  /** The leader lease has changed hands. */
  leaseChanged(state: LeaseState): void;
}

/** A machine driven by the one of the connected controllers that has its leader lease: only that gets its events. */
export class MachineEndpoint {
  private readonly candidates = new Set<Driver>();
  private driver: Driver | null = null;
  private term = 0;
  private yields = false;
  private quiescing: Promise<unknown> = Promise.resolve();

  constructor(readonly machine: Machine) {}

  get lease(): LeaseState {
    const { term, driver, yields } = this;
    return { term, controller: driver?.controller ?? '', ...(yields ? { yields } : {}) };
  }

  isDriver(candidate: Driver): boolean {
    return this.driver === candidate;
  }

  enter(candidate: Driver): void {
    this.candidates.add(candidate);
  }

  /** Lets the driver go on until another asks for the lease. */
  yield(candidate: Driver): void {
    if (this.driver !== candidate) return;
    this.yields = true;
    this.announce();
  }

  /** True if it drives the machine from now on. */
  take(candidate: Driver, term: number): boolean {
    const { driver, yields } = this;
    if (driver === candidate) return true;
    const isFree = driver === null || yields;
    if (!isFree && !mayReplace({ term, controller: candidate.controller }, this.lease)) return false;
    this.driver = candidate;
    this.yields = false;
    this.term = term;
    driver?.deposed();
    this.announce();
    // Answers to calls of an earlier driver are not for this one.
    this.machine.attach(NO_DRIVER);
    return true;
  }

  leave(candidate: Driver): void {
    this.candidates.delete(candidate);
    if (this.driver !== candidate) return;
    this.driver = null;
    this.yields = false;
    this.announce();
  }

  /** Makes the machine idle for its driver, after all earlier calls, including those of another driver. */
  quiesce(driver: Driver): Promise<WorkerState> {
    const quiesced = this.quiescing.then(async () => {
      const state = await this.machine.quiesce();
      if (this.isDriver(driver)) this.machine.attach(driver);
      return state;
    });
    this.quiescing = quiesced.catch(() => {});
    return quiesced;
  }

  private announce(): void {
    const { lease } = this;
    for (const candidate of [...this.candidates]) candidate.leaseChanged(lease);
  }
}

const NO_DRIVER: MachineEvents = { results: () => {}, gpuDown: () => {} };

/** True if a controller replaces its own connection, which broke silently. */
function mayReplace(one: LeaseState, driver: LeaseState): boolean {
  return one.controller === driver.controller || outranks(one, driver);
}
