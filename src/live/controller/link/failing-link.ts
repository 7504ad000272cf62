import { NS_PER_MS } from '../../../base/units.js';
import type { Time, Timer } from '../../../base/world/time.js';
import type { LocalMachine } from '../../worker/local-machine.js';
import { LocalLink, type WorkerEvents } from './worker-link.js';

/** Planned changes of the simulated GPUs of a machine, by their numbers there and the controller's clock. */
export interface GpuPlan {
  /** Those of a GPU come one after the other. */
  readonly failures: readonly PlannedFailure[];
  readonly clocks: readonly { readonly gpu: number; readonly atNs: number; readonly factor: number }[];
  /** A GPU fails; it is back. */
  failed(failure: PlannedFailure, nowNs: number): void;
  returned(failure: PlannedFailure, nowNs: number): void;
}

interface PlannedFailure {
  readonly gpu: number;
  readonly atNs: number;
  /** Infinity: it stays away. */
  readonly untilNs: number;
  readonly isBilled: boolean;
}

/** Longest delay of Node's timers, 24 days: no run takes that long. */
const LONGEST_MS = 2 ** 31 - 1;

/** Reason of a planned failure, for people. */
export const PLANNED = 'it fails as planned';

/**
 * Link to simulated GPUs of the controller's own process that fail as planned: one loses its weights and all that it was
 * sent, takes nothing for a while, and comes back empty. The others go on.
 */
export class FailingLink extends LocalLink {
  /** By GPU that is gone: until it has dropped what it had. */
  private readonly gone = new Map<number, Promise<void>>();
  private readonly timers: Timer[] = [];

  constructor(
    private readonly machine: LocalMachine,
    private readonly plan: GpuPlan,
    time?: Time,
  ) {
    super(machine, undefined, time);
  }

  override start(events: WorkerEvents, nowNs: () => number): void {
    const up: WorkerEvents['up'] = (description, state) =>
      events.up(description, { ...state, gone: [...this.gone.keys()] });
    super.start({ ...events, up }, nowNs);
    for (const { gpu, atNs, factor } of this.plan.clocks)
      this.at(atNs, () => this.machine.setClock(gpu, factor));
    for (const failure of this.plan.failures) {
      this.at(failure.atNs, () => this.fail(failure));
      this.at(failure.untilNs, () => void this.bringBack(failure));
    }
  }

  override async close(): Promise<void> {
    for (const timer of this.timers) timer.cancel();
    this.events = null;
    await super.close();
  }

  private at(atNs: number, run: () => void): void {
    const delayMs = Math.ceil((atNs - this.nowNs()) / NS_PER_MS);
    if (delayMs <= 0) run();
    else if (delayMs <= LONGEST_MS) this.timers.push(this.time.after(delayMs, run));
  }

  private fail(failure: PlannedFailure): void {
    const { gpu } = failure;
    this.gone.set(gpu, this.machine.resetGpu(gpu));
    this.plan.failed(failure, this.nowNs());
    this.events?.down(PLANNED, gpu);
  }

  private async bringBack(failure: PlannedFailure): Promise<void> {
    const { gpu } = failure;
    await this.gone.get(gpu);
    this.gone.delete(gpu);
    if (this.events === null) return;
    this.plan.returned(failure, this.nowNs());
    this.events.gpuUp(gpu);
  }
}
