import { NS_PER_HOUR, NS_PER_S } from '../base/units.js';
import {
  type FleetObserver,
  GPU_DRAINING,
  GPU_OFF,
  GPU_ON,
  GPU_STARTING,
  type GpuState,
} from '../core/fleet-observer.js';
import type { GpuCount, ScalingDecision } from '../core/scaler.js';
import { type Counted, ratioOf, spanNs } from './counted.js';
import type { PaidKind } from './parts.js';
import type { FleetOverTime, RunEvent, ScalingFigures } from './results.js';

interface FleetTallyOptions extends Counted {
  /** Kinds of GPUs, numbered consecutively kind by kind. */
  readonly kinds: readonly { readonly name: string; readonly gpus: number }[];
}

type Step = FleetOverTime['steps'][number];

/**
 * Keeps the number of GPUs over time, and the scaling decisions. A GPU is paid for from its order until it is off; it
 * is assumed to stay as it is until the nominal end.
 */
export class FleetTally implements FleetObserver {
  private readonly kindOf: Uint8Array;
  private readonly state: Uint8Array;
  /** Number of GPUs by kind and state. */
  private readonly counts: readonly number[][];
  private ordered = 0;
  private stopped = 0;
  private readonly steps: Step[] = [];
  private wanted: readonly number[] = [];
  /** Decisions that changed the wanted number of GPUs. */
  readonly events: RunEvent[] = [];

  constructor(private readonly options: FleetTallyOptions) {
    const { kinds } = options;
    this.kindOf = Uint8Array.from(kinds.flatMap(({ gpus }, kind) => new Array<number>(gpus).fill(kind)));
    this.state = new Uint8Array(this.kindOf.length);
    this.counts = kinds.map(() => [0, 0, 0, 0]);
  }

  gpuChanged(gpu: number, state: GpuState, nowNs: number): void {
    const { warmupNs, durationNs } = this.options;
    const counts = this.counts[this.kindOf[gpu]];
    const before = this.state[gpu] as GpuState;
    this.state[gpu] = state;
    counts[before]--;
    counts[state]++;
    if (nowNs >= durationNs) return;
    if (nowNs >= warmupNs) {
      if (state === GPU_STARTING) this.ordered++;
      if (state === GPU_DRAINING || (before === GPU_STARTING && state === GPU_OFF)) this.stopped++;
    }
    this.step(nowNs / NS_PER_S);
  }

  scaled({ gpus, reason }: ScalingDecision, _counts: readonly GpuCount[], nowNs: number): void {
    if (gpus.every((count, kind) => count === this.wanted[kind])) return;
    this.wanted = [...gpus];
    const counts = gpus.map((count, kind) => `${count} × ${this.options.kinds[kind].name}`);
    this.events.push({
      atSeconds: nowNs / NS_PER_S,
      kind: 'scaled',
      text: `${counts.join(' + ')}: ${reason}`,
    });
  }

  /** Time paid for, by kind. */
  paid(): PaidKind[] {
    const { warmupNs } = this.options;
    const toNs = warmupNs + spanNs(this.options);
    return this.options.kinds.map((_, kind) => ({
      paidNs: this.sumNs(warmupNs, toNs, (step) => paidOf(step, kind)),
      onNs: this.sumNs(warmupNs, toNs, ({ on, draining }) => on[kind] + draining[kind]),
      most: this.steps.reduce((most, step) => Math.max(most, paidOf(step, kind)), 0),
    }));
  }

  /** Time in service between two instants, summed over GPUs. */
  onNs(fromNs: number, toNs: number): number {
    return this.sumNs(fromNs, toNs, ({ on, draining }) => sumOf([...on, ...draining]));
  }

  figures(scaler: string): ScalingFigures {
    const paidNs = sumOf(this.paid().map((kind) => kind.paidNs));
    return {
      scaler,
      gpuHours: paidNs / NS_PER_HOUR,
      meanGpus: ratioOf(paidNs, spanNs(this.options)),
      mostGpus: this.steps
        .map(({ on, starting, draining }) => sumOf([...on, ...starting, ...draining]))
        .reduce((most, gpus) => Math.max(most, gpus), 0),
      ordered: this.ordered,
      stopped: this.stopped,
    };
  }

  overTime(): FleetOverTime {
    return { kinds: this.options.kinds.map(({ name }) => name), steps: this.steps };
  }

  /** Sums a number of GPUs over the time between two instants. */
  private sumNs(fromNs: number, toNs: number, gpusOf: (step: Step) => number): number {
    const within = (seconds: number) => Math.min(Math.max(Math.round(seconds * NS_PER_S), fromNs), toNs);
    return this.steps.reduce((ns, step, i) => {
      const untilSeconds = this.steps[i + 1]?.atSeconds ?? Number.POSITIVE_INFINITY;
      return ns + gpusOf(step) * (within(untilSeconds) - within(step.atSeconds));
    }, 0);
  }

  /** Merges changes at the same time into one step. */
  private step(atSeconds: number): void {
    const of = (state: GpuState) => this.counts.map((counts) => counts[state]);
    const step = { atSeconds, on: of(GPU_ON), starting: of(GPU_STARTING), draining: of(GPU_DRAINING) };
    if (this.steps.at(-1)?.atSeconds === atSeconds) this.steps.pop();
    this.steps.push(step);
  }
}

function paidOf({ on, starting, draining }: Step, kind: number): number {
  return on[kind] + starting[kind] + draining[kind];
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
