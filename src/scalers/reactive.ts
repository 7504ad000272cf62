import { NS_PER_MINUTE } from '../base/units.js';
import type { Scaler, ScalingDecision, ScalingView } from '../core/scaler.js';
import type { PolicyOptions } from '../policies/entry.js';
import type { ScalerEntry } from './entry.js';
import { capacityOf, keptGpus, sumOf } from './fleet-sums.js';
import { Highest } from './highest.js';
import { cheapestFleet } from './mix.js';

/**
 * Scales by what is measured now, by the rule of Kubernetes' horizontal autoscaler: the present number of GPUs times measured ÷
 * target, the larger of what utilization and queue ask for; nothing within the tolerance; fewer only when that was asked for throughout
 * `stabilization`.
 */
class Reactive implements Scaler {
  readonly name = 'reactive';
  private readonly target: number;
  private readonly queue: number;
  private readonly tolerance: number;
  private readonly wanted: Highest;

  constructor({ utilization, queue, tolerance, stabilization }: PolicyOptions) {
    this.target = utilization as number;
    this.queue = queue as number;
    this.tolerance = tolerance as number;
    this.wanted = new Highest(stabilization as number);
  }

  decide({ nowNs, kinds, queued }: ScalingView): ScalingDecision {
    const on = kinds.map((kind) => kind.on);
    const capacity = capacityOf(kinds, on);
    const busy =
      sumOf(kinds, (kind, k) => kind.execUtilization * on[k] * kind.speed) / Math.max(1e-9, capacity);
    const waiting =
      queued.reduce((sum, count) => sum + count, 0) /
      Math.max(
        1,
        sumOf(on, (gpus) => gpus),
      );
    const byLoad = this.ratio(busy / this.target);
    const byQueue = this.queue === 0 ? 0 : this.ratio(waiting / this.queue);
    const need = capacity * Math.max(byLoad, byQueue);
    const highest = this.wanted.add(need, nowNs);
    const why =
      byQueue > byLoad ? `${Math.round(waiting)} requests wait per GPU` : `EXEC ${percent(busy)} busy`;
    const present = capacityOf(kinds, keptGpus(kinds));
    if (need > present) return { gpus: cheapestFleet(kinds, need), reason: why };
    if (highest < present) return { gpus: cheapestFleet(kinds, highest), reason: `${why}, also before` };
    return { gpus: keptGpus(kinds), reason: why };
  }

  private ratio(measured: number): number {
    return Math.abs(measured - 1) <= this.tolerance ? 1 : measured;
  }
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

export const reactiveEntry: ScalerEntry = {
  kind: 'reactive',
  summary: 'Keeps utilization, and the queue if wanted, at a target, as the usual horizontal autoscalers do.',
  options: {
    utilization: {
      type: 'number',
      default: 0.6,
      min: 0.01,
      max: 1,
      describe: 'Share of time that EXEC lanes shall be busy.',
    },
    queue: {
      type: 'number',
      default: 0,
      min: 0,
      describe: 'Requests that may wait per GPU; 0: the queue does not count.',
    },
    tolerance: {
      type: 'number',
      default: 0.1,
      min: 0,
      max: 1,
      describe: 'How far from the target, relative to it, nothing is changed.',
    },
    stabilization: {
      type: 'duration',
      default: 5 * NS_PER_MINUTE,
      min: 0,
      describe: 'GPUs are stopped only if fewer were enough for all of this time.',
    },
  },
  create: (_context, options) => new Reactive(options),
};
