import { NS_PER_MINUTE } from '../base/units.js';
import type { Scaler, ScalingDecision, ScalingView } from '../core/scaler.js';
import type { PolicyOptions } from '../policies/entry.js';
import type { ScalerEntry } from './entry.js';
import { capacityOf, keptGpus, sumOf } from './fleet-sums.js';
import { Highest } from './highest.js';
import { cheapestFleet } from './mix.js';
import { gpusText, neededText, percentText, unitOf } from './reasons.js';

/**
 * Scales by current measurements, by the rule of Kubernetes' horizontal autoscaler: the present number of GPUs times
 * measured ÷ target, for the larger of utilization and queue; no change within the tolerance; fewer only if that was
 * wanted throughout `stabilization`.
 */
class Reactive implements Scaler {
  readonly name = 'reactive';
  private readonly target: number;
  private readonly queue: number;
  private readonly tolerance: number;
  private readonly stabilizationNs: number;
  private readonly wanted: Highest;

  constructor({ utilization, queue, tolerance, stabilization }: PolicyOptions) {
    this.target = utilization as number;
    this.queue = queue as number;
    this.tolerance = tolerance as number;
    this.stabilizationNs = stabilization as number;
    this.wanted = new Highest(this.stabilizationNs);
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
    const kept = keptGpus(kinds);
    const present = capacityOf(kinds, kept);
    const gpus =
      need > present ? cheapestFleet(kinds, need) : highest < present ? cheapestFleet(kinds, highest) : kept;
    const measured =
      byQueue > byLoad
        ? this.measured(
            `${Number(waiting.toFixed(2))} requests wait per GPU`,
            waiting / this.queue,
            String(this.queue),
          )
        : this.measured(`EXEC ${percentText(busy)} busy`, busy / this.target, percentText(this.target));
    const earlier = need > present ? undefined : { need: highest, windowNs: this.stabilizationNs };
    return {
      gpus,
      reason: `${measured} on ${gpusText(capacity)} ${unitOf(kinds)}: ${neededText(kinds, gpus, need, earlier)}`,
    };
  }

  private ratio(measured: number): number {
    return this.isNear(measured) ? 1 : measured;
  }

  private isNear(measured: number): boolean {
    return Math.abs(measured - 1) <= this.tolerance;
  }

  /** `EXEC 91.2 % busy (target 60 %)`; within the tolerance the target itself is used. */
  private measured(what: string, ratio: number, target: string): string {
    const near = this.isNear(ratio) ? `, which is within ${percentText(this.tolerance)}` : '';
    return `${what} (target ${target}${near})`;
  }
}

export const reactiveEntry: ScalerEntry = {
  kind: 'reactive',
  summary: 'Keeps utilization, and optionally the queue, at a target, like common horizontal autoscalers.',
  options: {
    utilization: {
      type: 'number',
      default: 0.6,
      min: 0.01,
      max: 1,
      describe: 'Target share of time that EXEC lanes are busy.',
    },
    queue: {
      type: 'number',
      default: 0,
      min: 0,
      describe: 'Target number of waiting requests per GPU; 0: the queue does not count.',
    },
    tolerance: {
      type: 'number',
      default: 0.1,
      min: 0,
      max: 1,
      describe: 'Relative deviation from the target within which nothing changes.',
    },
    stabilization: {
      type: 'duration',
      default: 5 * NS_PER_MINUTE,
      min: 0,
      describe: 'GPUs are stopped only if fewer sufficed for all of this time.',
    },
  },
  create: (_context, options) => new Reactive(options),
};
