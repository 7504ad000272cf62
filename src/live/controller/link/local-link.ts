import { invariant } from '../../../base/invariant.js';
import { REAL_TIME } from '../../../base/world/real-time.js';
import type { Time } from '../../../base/world/time.js';
import type { Machine } from '../../worker/machine.js';
import { ClockSync } from './clock-sync.js';
import { DrivingLink, MachineLink } from './machine-link.js';
import { LOCAL, type WorkerEvents } from './worker-link.js';

/** Link to a worker in the controller's own process, which ends with it. */
export class LocalLink extends DrivingLink {
  readonly name = LOCAL;
  protected machine: MachineLink | null = null;

  constructor(
    private readonly local: Machine,
    private readonly log: (line: string) => void = () => {},
    private readonly time: Time = REAL_TIME,
  ) {
    super();
  }

  start(events: WorkerEvents, nowNs: () => number): void {
    invariant(this.machine === null, 'a worker is started once');
    const { local, log, time } = this;
    this.machine = new MachineLink({
      machine: local,
      clock: ownClock(nowNs, time),
      events,
      nowNs,
      time,
      log,
    });
    this.machine.start();
  }

  async close(): Promise<void> {
    this.machine?.end();
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
