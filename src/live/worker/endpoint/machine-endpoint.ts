import type { WorkerState } from '../../messages.js';
import type { Machine, MachineEvents } from '../machine.js';

/** The controller's stream that drives a machine. */
export interface Driver extends MachineEvents {
  /** Another stream drives it now. */
  deposed(): void;
}

/** A machine as one controller at a time drives it: only the driver gets its events. */
export class MachineEndpoint {
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

  /** Makes the machine idle, after all earlier calls, including those of another driver. */
  quiesce(): Promise<WorkerState> {
    const quiesced = this.quiescing.then(() => this.machine.quiesce());
    this.quiescing = quiesced.catch(() => {});
    return quiesced;
  }
}
