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
import { type Counted, countedNs, ratioOf, spanNs } from './counted.js';
import type { PaidKind } from './parts.js';
import type { FleetOverTime, ScalingFigures } from './results.js';

interface FleetTallyOptions extends Counted {
  /** Kinds of GPUs, numbered consecutively kind by kind. */
  readonly kinds: readonly { readonly name: string; readonly gpus: number }[];
}

interface KindCounts {
  paidNs: number;
  onNs: number;
  paid: number;
  most: number;
  /** Number of GPUs by state. */
  readonly states: number[];
}

/**
 * Sums the time of GPUs in service and keeps the scaling decisions. A GPU is paid for from its order until it is off.
 */
export class FleetTally implements FleetObserver {
  private readonly kindOf: Uint8Array;
  private readonly state: Uint8Array;
  private readonly sinceNs: Float64Array;
  private readonly kinds: readonly KindCounts[];
  private ordered = 0;
  private stopped = 0;
  private readonly steps: FleetOverTime['steps'][number][] = [];
  private readonly decisions: FleetOverTime['decisions'][number][] = [];

  constructor(private readonly options: FleetTallyOptions) {
    const { kinds } = options;
    this.kindOf = Uint8Array.from(kinds.flatMap(({ gpus }, kind) => new Array<number>(gpus).fill(kind)));
    this.state = new Uint8Array(this.kindOf.length);
    this.sinceNs = new Float64Array(this.kindOf.length);
    this.kinds = kinds.map(() => ({ paidNs: 0, onNs: 0, paid: 0, most: 0, states: [0, 0, 0, 0] }));
  }

  gpuChanged(gpu: number, state: GpuState, nowNs: number): void {
    const { kinds, kindOf, options } = this;
    const kind = kinds[kindOf[gpu]];
    const before = this.state[gpu] as GpuState;
    const isCounted = nowNs < options.durationNs;
    this.add(kind, before, this.sinceNs[gpu], nowNs);
    this.state[gpu] = state;
    this.sinceNs[gpu] = nowNs;
    kind.states[before]--;
    kind.states[state]++;
    if (before === GPU_OFF) kind.paid++;
    if (state === GPU_OFF) kind.paid--;
    if (!isCounted) return;
    kind.most = Math.max(kind.most, kind.paid);
    if (nowNs >= options.warmupNs) {
      if (state === GPU_STARTING) this.ordered++;
      if (state === GPU_DRAINING || (before === GPU_STARTING && state === GPU_OFF)) this.stopped++;
    }
    this.step(nowNs / NS_PER_S);
  }

  scaled({ gpus, reason }: ScalingDecision, _counts: readonly GpuCount[], nowNs: number): void {
    const last = this.decisions.at(-1);
    if (last?.gpus.every((wanted, kind) => wanted === gpus[kind]) === true) return;
    this.decisions.push({ atSeconds: nowNs / NS_PER_S, gpus: [...gpus], reason });
  }

  /** Paid time by kind; GPUs are assumed to stay as they are until the nominal end. */
  paid(): PaidKind[] {
    const all = this.kinds.map(({ paidNs, onNs, most }) => ({ paidNs, onNs, most }));
    this.kindOf.forEach((kind, gpu) => {
      this.add(all[kind], this.state[gpu] as GpuState, this.sinceNs[gpu], this.options.durationNs);
    });
    return all;
  }

  figures(scaler: string): ScalingFigures {
    const paidNs = this.paid().reduce((sum, one) => sum + one.paidNs, 0);
    return {
      scaler,
      gpuHours: paidNs / NS_PER_HOUR,
      meanGpus: ratioOf(paidNs, spanNs(this.options)),
      mostGpus: this.mostGpus(),
      ordered: this.ordered,
      stopped: this.stopped,
    };
  }

  overTime(): FleetOverTime {
    return {
      kinds: this.options.kinds.map(({ name }) => name),
      steps: this.steps,
      decisions: this.decisions,
    };
  }

  private mostGpus(): number {
    const paid = this.steps.map(({ on, starting, draining }) =>
      [...on, ...starting, ...draining].reduce((sum, gpus) => sum + gpus, 0),
    );
    return paid.reduce((most, gpus) => Math.max(most, gpus), 0);
  }

  private add(to: { paidNs: number; onNs: number }, state: GpuState, sinceNs: number, untilNs: number): void {
    if (state === GPU_OFF) return;
    const ns = countedNs(this.options, { beginNs: sinceNs, endNs: untilNs });
    to.paidNs += ns;
    if (state !== GPU_STARTING) to.onNs += ns;
  }

  /** Merges changes at the same time into one step. */
  private step(atSeconds: number): void {
    const of = (state: GpuState) => this.kinds.map(({ states }) => states[state]);
    const step = {
      ...{ atSeconds, on: of(GPU_ON), starting: of(GPU_STARTING) },
      draining: of(GPU_DRAINING),
    };
    if (this.steps.at(-1)?.atSeconds === atSeconds) this.steps.pop();
    this.steps.push(step);
  }
}
