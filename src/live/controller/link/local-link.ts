import { invariant } from '../../../base/invariant.js';
import { REAL_TIME } from '../../../base/world/real-time.js';
import type { Time } from '../../../base/world/time.js';
import type { ActionMessage, ModelReference } from '../../messages.js';
import type { ServedModel } from '../../model.js';
import type { ModelList } from '../../model-list.js';
import { NO_OPERATORS, type OperatorRuns } from '../../operator-runs.js';
import type { Machine } from '../../worker/machine.js';
import { ClockSync } from './clock-sync.js';
import { MachineLink } from './machine-link.js';
import { LOCAL, type WorkerEvents, type WorkerLink } from './worker-link.js';

/** Link to a worker in the controller's own process, which ends with it. */
export class LocalLink implements WorkerLink {
  readonly name = LOCAL;
  private link: MachineLink | null = null;

  constructor(
    private readonly machine: Machine,
    private readonly log: (line: string) => void = () => {},
    private readonly time: Time = REAL_TIME,
  ) {}

  start(events: WorkerEvents, nowNs: () => number): void {
    invariant(this.link === null, 'a worker is started once');
    const { machine, log, time } = this;
    this.link = new MachineLink({ machine, clock: ownClock(nowNs, time), events, nowNs, time, log });
    this.link.start();
  }

  send(actions: readonly ActionMessage[]): void {
    invariant(this.link !== null, 'actions go to a worker that is up');
    this.link.send(actions);
  }

  async listModels(name: string | null): Promise<ModelList> {
    invariant(this.link !== null, 'a worker that was started is asked');
    return this.link.listModels(name);
  }

  async addModel(index: number, reference: ModelReference): Promise<ServedModel> {
    invariant(this.link !== null, 'models come to a worker that was started');
    return this.link.addModel(index, reference);
  }

  async dropModel(index: number): Promise<void> {
    await this.link?.dropModel(index);
  }

  restart(reason: string, gpu: number | null): void {
    this.link?.restart(reason, gpu);
  }

  startRecording(): void {
    this.link?.startRecording();
  }

  async stopRecording(): Promise<OperatorRuns> {
    return this.link?.stopRecording() ?? NO_OPERATORS;
  }

  async close(): Promise<void> {
    this.link?.end();
    await this.machine.close();
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
