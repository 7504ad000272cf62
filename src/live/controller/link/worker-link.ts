import { REAL_TIME } from '../../../base/world/real-time.js';
import type { Time } from '../../../base/world/time.js';
import type { WorkerDescription } from '../../messages.js';
import type { Machine } from '../../worker/machine.js';
import { ClockSync } from './clock-sync.js';

/** Driver of a worker, as one controller sees it. */
export type Driving = 'none' | 'this' | 'another';

/** A machine as driven by a controller: in this process, or at the other end of a stream. */
export type DrivenMachine = Pick<
  Machine,
  'description' | 'attach' | 'submit' | 'quiesce' | 'listModels' | 'addModel' | 'dropModel'
> & {
  /** No action needs these kept tensors any more. Absent: it keeps none. */
  forget?(keys: readonly number[]): void;
};

/** Events of a link, none after it was closed. */
export interface LinkEvents {
  /** The worker can be reached and has described itself; another controller may drive it. Only for remote workers. */
  met(description: WorkerDescription): void;
  /** The worker's driver has changed; `yields`: it leaves the worker to any that asks. Only for remote workers. */
  driven(by: Driving, yields?: boolean): void;
  /** This controller drives the machine, until it is lost; `clock`: estimate of the machine's. Also after each reconnection. */
  drives(machine: DrivenMachine, clock: ClockSync): void;
  /** The machine, if any, is lost: nothing asked of it is answered any more. Returns true if that was made known, as it was up. */
  lost(reason: string): boolean;
}

/** Name of the worker in the controller's own process. */
export const LOCAL = 'local';

/** A controller's connection with one worker, in this process or across a network. */
export interface WorkerLink {
  /** Name in logs and metrics: `LOCAL` or HOST:PORT. */
  readonly name: string;
  /** Starts to connect, and to reconnect when needed; `nowNs` is the controller's clock. */
  start(events: LinkEvents, nowNs: () => number): void;
  /** Tells the operator of a problem. */
  complain(what: string): void;
  /** Drives on until another controller asks for the worker. Absent: there is no other. */
  yield?(): void;
  /** Asks for all workers of a driver that yields them. Absent: there is no other. */
  takeOver?(): void;
  /** Resolves when the worker was notified. */
  close(): Promise<void>;
}

/** Link to a worker in the controller's own process, which ends with it. */
export class LocalLink implements WorkerLink {
  readonly name = LOCAL;

  constructor(
    private readonly machine: Machine,
    readonly complain: (line: string) => void = () => {},
    private readonly time: Time = REAL_TIME,
  ) {}

  start(events: LinkEvents, nowNs: () => number): void {
    events.drives(this.machine, ownClock(nowNs, this.time));
  }

  close(): Promise<void> {
    return this.machine.close();
  }
}

/** Enough for one of them to be uninterrupted. */
const READINGS = 16;

/** Relation of the controller's clock to the machine's: they differ only in origin. */
function ownClock(nowNs: () => number, time: Time): ClockSync {
  const clock = new ClockSync();
  for (let i = 0; i < READINGS; i++) {
    const beforeNs = nowNs();
    clock.add(beforeNs, time.monotonicNs(), nowNs());
  }
  return clock;
}
