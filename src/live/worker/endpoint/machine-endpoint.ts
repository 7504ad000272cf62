import type { Machine, MachineEvents } from '../machine/machine.js';
import type { WorkerState } from '../messages.js';

/** Whoever drives a machine. */
export interface Driver extends MachineEvents {
  /** Another one drives it now. */
  deposed(): void;
}

/** A machine's one seat: who sits there is told what happens. */
export class DriverSeat {
  private driver: Driver | null = null;
  private quiescing: Promise<unknown> = Promise.resolve();

  constructor(readonly machine: Machine) {}

  get taken(): boolean {
    return this.driver !== null;
  }

  take(driver: Driver): void {
    const previous = this.driver;
    this.driver = driver;
    this.machine.attach(driver);
    previous?.deposed();
  }

  leave(driver: Driver): void {
    if (this.driver === driver) this.driver = null;
  }

  /** Gets the machine idle, once all earlier calls, also those of another driver, are done. */
  quiesce(): Promise<WorkerState> {
    const quiesced = this.quiescing.then(() => this.machine.quiesce());
    this.quiescing = quiesced.catch(() => {});
    return quiesced;
  }
}
