import type { WorkerState } from '../../messages.js';
import type { SeatState } from '../../wire/protocol.js';
import { outranks } from '../../wire/rank.js';
import type { Machine, MachineEvents } from '../machine.js';

/** A controller's stream, which may drive a machine. */
export interface Driver extends MachineEvents, Candidate {}

/** A machine driven by one controller at a time: only the driver gets its events. */
export class MachineEndpoint {
  readonly seat = new Seat();
  private quiescing: Promise<unknown> = Promise.resolve();

  constructor(readonly machine: Machine) {}

  /** True if `driver` drives the machine from now on. */
  take(driver: Driver, term: number): boolean {
    const isNew = !this.seat.isDriver(driver);
    if (!this.seat.take(driver, term)) return false;
    // Answers to calls of an earlier driver are not for this one.
    if (isNew) this.machine.attach(NO_DRIVER);
    return true;
  }

  /** Makes the machine idle for its driver, after all earlier calls, including those of another driver. */
  quiesce(driver: Driver): Promise<WorkerState> {
    const quiesced = this.quiescing.then(async () => {
      const state = await this.machine.quiesce();
      if (this.seat.isDriver(driver)) this.machine.attach(driver);
      return state;
    });
    this.quiescing = quiesced.catch(() => {});
    return quiesced;
  }
}

const NO_DRIVER: MachineEvents = { results: () => {}, gpuDown: () => {} };

/** A controller's stream, as known to the seat. */
export interface Candidate {
  readonly controller: string;
  /** Another controller has the seat now. */
  deposed(): void;
  /** The seat has changed hands. */
  seatChanged(state: SeatState): void;
}

/** Seat of a worker: determines which of the connected controllers drives it. */
export class Seat {
  private readonly candidates = new Set<Candidate>();
  private driver: Candidate | null = null;
  private term = 0;

  get state(): SeatState {
    return { term: this.term, controller: this.driver?.controller ?? '' };
  }

  isDriver(candidate: Candidate): boolean {
    return this.driver === candidate;
  }

  enter(candidate: Candidate): void {
    this.candidates.add(candidate);
  }

  /** True if it drives the worker from now on. */
  take(candidate: Candidate, term: number): boolean {
    const { driver } = this;
    if (driver === candidate) return true;
    if (driver !== null && !mayReplace({ term, controller: candidate.controller }, this.state)) return false;
    this.driver = candidate;
    this.term = term;
    driver?.deposed();
    this.announce();
    return true;
  }

  leave(candidate: Candidate): void {
    this.candidates.delete(candidate);
    if (this.driver !== candidate) return;
    this.driver = null;
    this.announce();
  }

  private announce(): void {
    const { state } = this;
    for (const candidate of [...this.candidates]) candidate.seatChanged(state);
  }
}

/** True if a controller replaces its own connection, which broke silently. */
function mayReplace(one: SeatState, driver: SeatState): boolean {
  return one.controller === driver.controller || outranks(one, driver);
}
