import { REAL_TIME } from '../../../base/world/real-time.js';
import type { Time } from '../../../base/world/time.js';
import type { ActionMessage } from '../../messages.js';
import type { Machine } from '../../worker/machine.js';
import { ClockSync } from './clock-sync.js';
import { MachineLink } from './machine-link.js';
import { LOCAL, type WorkerEvents } from './worker-link.js';

/** Link to a worker in the controller's own process, which ends with it. */
export class LocalLink extends MachineLink {
  readonly name = LOCAL;

  constructor(
    private readonly local: Machine,
    protected readonly complain: (line: string) => void = () => {},
    time: Time = REAL_TIME,
  ) {
    super(time);
  }

  override start(events: WorkerEvents, nowNs: () => number): void {
    super.start(events, nowNs);
    this.drive(this.local, ownClock(nowNs, this.time));
  }

  prepare(action: ActionMessage): ActionMessage {
    return this.local.prepare(action);
  }

  async close(): Promise<void> {
    this.end();
    await this.local.close();
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
