import type { Experiment } from '../../../src/config/experiment.js';
import { type Action, STATUS_WORKER_LOST } from '../../../src/core/action.js';
import {
  type FleetObserver,
  GPU_DRAINING,
  GPU_OFF,
  GPU_ON,
  GPU_STARTING,
  type GpuState,
} from '../../../src/core/fleet-observer.js';
import type { GpuCount, ScalingDecision } from '../../../src/core/scaler.js';
import type { EngineTask } from '../../../src/run/engine.js';
import type { Problem } from './checks.js';

/** From which states a GPU comes into each. */
const BEFORE: Readonly<Record<GpuState, readonly GpuState[]>> = {
  [GPU_OFF]: [GPU_STARTING, GPU_DRAINING],
  [GPU_STARTING]: [GPU_OFF],
  [GPU_ON]: [GPU_STARTING],
  [GPU_DRAINING]: [GPU_ON],
};

/** Which GPUs there are, as a scaler orders and stops them. Methods for actions return what does not hold; empty: all does. */
export class FleetBooks implements FleetObserver {
  /** The first thing that does not hold. */
  problem: Problem | null = null;
  /** Times at which a GPU came, and went. */
  came = 0;
  went = 0;
  private readonly kindOf: readonly number[];
  private readonly state: GpuState[];
  private readonly orderedNs: number[];
  /** By GPU: actions without a result. */
  private readonly owed: number[];
  private wanted: ScalingDecision | null = null;
  /** GPUs that drained when that was decided: their numbers are not free. */
  private drained: readonly number[] = [];
  private lastNs = 0;

  constructor(
    private readonly experiment: Experiment,
    /** Its weights are gone, too. */
    private readonly gone: (gpu: number) => void,
  ) {
    const { kinds } = experiment.cluster;
    this.kindOf = kinds.flatMap(({ gpus }, kind) => new Array<number>(gpus).fill(kind));
    this.state = kinds.flatMap(({ gpus, on }) =>
      Array.from({ length: gpus }, (_, i): GpuState => (i < on ? GPU_ON : GPU_OFF)),
    );
    this.orderedNs = this.kindOf.map(() => 0);
    this.owed = this.kindOf.map(() => 0);
  }

  gpuChanged(gpu: number, state: GpuState, nowNs: number): void {
    // Those that are on at the start are reported then.
    if (nowNs === 0 && this.wanted === null && state === GPU_ON && this.state[gpu] === GPU_ON) return;
    const { startNs } = this.experiment.cluster.kinds[this.kindOf[gpu]].scaled;
    const facts = () => ({ gpu, from: this.state[gpu], to: state, nowNs, orderedNs: this.orderedNs[gpu] });
    const fails = state === GPU_OFF && this.state[gpu] === GPU_ON && this.mayFail;
    const isNext = fails || BEFORE[state].includes(this.state[gpu]);
    this.require('a GPU is ordered, comes, drains and goes', isNext, facts);
    if (state === GPU_STARTING) this.orderedNs[gpu] = nowNs;
    if (state === GPU_ON) {
      this.came++;
      const isInTime = this.mayFail || nowNs === this.orderedNs[gpu] + startNs;
      this.require('a GPU comes when it has started', isInTime, facts);
    }
    if (fails) this.gone(gpu);
    if (state === GPU_OFF && this.state[gpu] === GPU_DRAINING) {
      this.went++;
      this.require('a GPU that goes has done what it was sent', this.owed[gpu] === 0, facts);
      this.gone(gpu);
    }
    this.state[gpu] = state;
  }

  scaled(decision: ScalingDecision, counts: readonly GpuCount[], nowNs: number): void {
    const { scaler, cluster } = this.experiment;
    const facts = () => ({ nowNs, counts, decision, wanted: this.wanted, drained: this.drained });
    this.require('a scaler is asked once in each interval', nowNs === this.lastNs + scaler.intervalNs, facts);
    this.lastNs = nowNs;
    cluster.kinds.forEach(({ scaled: { min, max } }, kind) => {
      const count = (of: GpuState) =>
        this.state.filter((state, gpu) => state === of && this.kindOf[gpu] === kind).length;
      const { on, starting, draining } = counts[kind];
      const isSeen =
        on === count(GPU_ON) && starting === count(GPU_STARTING) && draining === count(GPU_DRAINING);
      this.require('a scaler sees the GPUs that there are', isSeen, facts);
      const gpus = decision.gpus[kind];
      this.require('a scaler keeps to min and max', gpus >= min && gpus <= max, facts);
      const before = this.wanted?.gpus[kind] ?? on;
      const free = max - (this.drained[kind] ?? 0);
      const isObeyed = on + starting <= before && on + starting >= Math.min(before, free);
      this.require('what a scaler decides is done', isObeyed, facts);
    });
    this.wanted = decision;
    this.drained = counts.map(({ draining }) => draining);
  }

  decided({ gpu }: Action): string {
    this.owed[gpu]++;
    return this.state[gpu] === GPU_ON ? '' : 'a GPU gets actions only while it is there';
  }

  completed({ gpu, status }: Action): string {
    this.owed[gpu]--;
    if (this.mayFail && status === STATUS_WORKER_LOST) return '';
    const isThere = this.state[gpu] === GPU_ON || this.state[gpu] === GPU_DRAINING;
    return isThere ? '' : 'a GPU that has gone does nothing';
  }

  private get mayFail(): boolean {
    return this.experiment.cluster.failures.length > 0;
  }

  private require(check: string, holds: boolean, what: () => unknown): void {
    if (!holds) this.problem ??= { check, what: JSON.stringify(what()) };
  }
}

/** The task, with books of its GPUs if a scaler orders them. */
export function withBooks(task: EngineTask, books: FleetBooks): EngineTask {
  const { scaling } = task;
  if (scaling === null) return task;
  const { fleet } = scaling;
  return { ...task, scaling: { ...scaling, fleet: { ...fleet, observers: [...fleet.observers, books] } } };
}
