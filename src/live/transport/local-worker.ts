import { invariant } from '../../core/invariant.js';
import { monotonicNs } from '../clock.js';
import type { Machine } from '../machine/machine.js';
import type { ActionMessage } from '../messages.js';
import { NO_OPERATORS, type OperatorProfile } from '../profiler/operator-profile.js';
import type { WorkerEvents, WorkerLink } from '../worker-link.js';
import { ClockSync } from './clock-sync.js';
import { MachineSession } from './machine-session.js';

/** A worker in the controller's own process. The machine stays its owner's to close. */
export class LocalWorker implements WorkerLink {
  readonly name = 'local';
  private session: MachineSession | null = null;

  constructor(
    private readonly machine: Machine,
    private readonly log: (line: string) => void = () => {},
  ) {}

  start(events: WorkerEvents, nowNs: () => number): void {
    invariant(this.session === null, 'a worker is started once');
    const { machine, log } = this;
    this.session = new MachineSession({ machine, clock: ownClock(nowNs), events, nowNs, log });
    this.session.start();
  }

  send(actions: readonly ActionMessage[]): void {
    invariant(this.session !== null, 'actions go to a worker that is up');
    this.session.send(actions);
  }

  restart(reason: string): void {
    this.session?.restart(reason);
  }

  startProfile(): void {
    this.session?.startProfile();
  }

  async stopProfile(): Promise<OperatorProfile> {
    return this.session?.stopProfile() ?? NO_OPERATORS;
  }

  async close(): Promise<void> {
    this.session?.end();
  }
}

/** Enough that one of them is not interrupted. */
const READINGS = 16;

/** How the controller's clock relates to the machine's: the same, but for its origin. */
function ownClock(nowNs: () => number): ClockSync {
  const clock = new ClockSync();
  for (let i = 0; i < READINGS; i++) {
    const beforeNs = nowNs();
    clock.add(beforeNs, monotonicNs(), nowNs());
  }
  return clock;
}
