import type { Experiment } from '../config/experiment.js';
import { openWorkloads } from '../config/open-workloads.js';
import { scalerEntryOf } from '../config/schema-policy.js';
import type { FleetObserver } from '../core/fleet-observer.js';
import { RateLimits } from '../core/rate-limits.js';
import { Autoscaler, type Scheduled } from '../scalers/autoscaler.js';
import type { ScalerContext } from '../scalers/entry.js';
import { workOf } from '../scalers/work.js';
import type { GpuFailure } from '../sim/failures.js';
import type { FleetOptions } from '../sim/fleet.js';
import { drain } from '../workload/source.js';

/** Scaler and failures of a simulation's GPUs. */
export interface Scaling {
  /** Observes the run; must be given the controller before it begins. Null: the number of GPUs is fixed. */
  readonly autoscaler: Autoscaler | null;
  readonly fleet: FleetOptions;
}

/** Scaler and failures of an experiment's cluster; null if there are none. Throws coded errors for bad traces. */
export async function openScaling(
  experiment: Experiment,
  durationNs: number,
  failures: readonly GpuFailure[],
  observers: readonly FleetObserver[],
): Promise<Scaling | null> {
  const { scaler, cluster } = experiment;
  const entry = scalerEntryOf(scaler);
  const fleet = {
    kinds: cluster.kinds.map(({ gpus, on, scaled: { startNs, minLifetimeNs } }) => ({
      ...{ gpus, on, startNs, minLifetimeNs },
    })),
    ...{ failures, observers },
  };
  if (entry === null) {
    if (failures.length === 0) return null;
    // Never asked: its first decision is after the end.
    const decide = () => ({ gpus: cluster.kinds.map(({ gpus }) => gpus), reason: '' });
    return {
      autoscaler: null,
      fleet: { ...fleet, intervalNs: Number.POSITIVE_INFINITY, untilNs: 0, decide },
    };
  }
  const { intervalNs } = scaler;
  const hindsight = entry.needsHindsight === true ? await workAhead(experiment, intervalNs) : [];
  const context: ScalerContext = { hindsight, hindsightNs: intervalNs };
  const kinds = cluster.kinds.map(({ name, pricePerHour, scaled }) => ({
    ...{ name: name ?? '', pricePerHour },
    ...scaled,
  }));
  const autoscaler = new Autoscaler(entry.create(context, scaler.options), kinds, intervalNs);
  return {
    autoscaler,
    fleet: {
      ...{ ...fleet, intervalNs, untilNs: durationNs },
      decide: (counts, nowNs) => autoscaler.decide(counts, nowNs),
    },
  };
}

/** Gives the scaler, if there is one, access to its controller's state. */
export function followController(scaling: Scaling | null, controller: Scheduled): void {
  scaling?.autoscaler?.follow(controller);
}

/** Work of the whole run by interval, in GPUs of the first kind: reads the workload once, ahead of the run. */
async function workAhead(experiment: Experiment, intervalNs: number): Promise<number[]> {
  const { models, pipelines } = experiment;
  const { source } = await openWorkloads(experiment);
  const counts = new Float64Array(models.length);
  const sloNs = new Float64Array(models.length);
  const work: number[] = [];
  const rates = new RateLimits(experiment.tenants.list);
  const close = () => {
    work.push(workOf({ models, counts, withinNs: intervalNs, sloNsOf: (model) => sloNs[model] }));
    counts.fill(0);
  };
  await drain(source, (arrival) => {
    while (arrival.timeNs >= (work.length + 1) * intervalNs) close();
    // Requests beyond a tenant's rate are refused with any number of GPUs.
    if (experiment.tenants.list.length > 0 && !rates.take(arrival.tenant, arrival.timeNs)) return;
    const pipeline = pipelines[arrival.model - models.length];
    for (const { model, mean } of pipeline?.steps ?? [{ model: arrival.model, mean: 1 }]) {
      counts[model] += mean;
      sloNs[model] = arrival.sloNs;
    }
  });
  close();
  return work;
}
