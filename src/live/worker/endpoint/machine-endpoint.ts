import type { WorkerState } from '../../messages.js';
import type { Machine, MachineEvents } from '../machine.js';
import { type Candidate, Seat } from './seat.js';

/** A controller's stream, which may drive a machine. */
export interface Driver extends MachineEvents, Candidate {}

/** A machine as one controller at a time drives it: only the driver gets its events. */
export class MachineEndpoint {
  readonly seat = new Seat();
  private quiescing: Promise<unknown> = Promise.resolve();

  constructor(readonly machine: Machine) {}

  /** Whether `driver` drives the machine from now on. */
  take(driver: Driver, term: number): boolean {
    const isNew = !this.seat.isDriver(driver);
    if (!this.seat.take(driver, term)) return false;
    // What an earlier driver has asked for is not for this one.
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
