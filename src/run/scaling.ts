import type { Experiment } from '../config/experiment.js';
import { openWorkloads } from '../config/open-workloads.js';
import { scalerEntryOf } from '../config/schema-policy.js';
import type { FleetObserver } from '../core/fleet-observer.js';
import { RateLimits } from '../core/rate-limits.js';
import { Autoscaler, type Scheduled } from '../scalers/autoscaler.js';
import type { ScalerContext } from '../scalers/entry.js';
import { workOf } from '../scalers/work.js';
import type { FleetOptions } from '../sim/fleet.js';

/** A scaler at work in a simulation. */
export interface Scaling {
  /** Observes the run; must be given the controller before it begins. */
  readonly autoscaler: Autoscaler;
  readonly fleet: FleetOptions;
}

/** Scaler of an experiment's cluster; null if there is none. Throws coded errors for bad traces. */
export async function openScaling(
  experiment: Experiment,
  durationNs: number,
  observers: readonly FleetObserver[],
): Promise<Scaling | null> {
  const { scaler, cluster } = experiment;
  const entry = scalerEntryOf(scaler);
  if (entry === null) return null;
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
      kinds: cluster.kinds.map(({ gpus, on, scaled: { startNs, minLifetimeNs } }) => ({
        ...{ gpus, on, startNs, minLifetimeNs },
      })),
      ...{ intervalNs, untilNs: durationNs, observers },
      decide: (counts, nowNs) => autoscaler.decide(counts, nowNs),
    },
  };
}

/** Gives the scaler, if there is one, access to its controller's state. */
export function followController(scaling: Scaling | null, controller: Scheduled): void {
  scaling?.autoscaler.follow(controller);
}

/** Work of the whole run by interval, in GPUs of the first kind: reads the workload once, ahead of the run. */
async function workAhead(experiment: Experiment, intervalNs: number): Promise<number[]> {
  const { models } = experiment;
  const { source } = await openWorkloads(experiment);
  const counts = new Float64Array(models.length);
  const sloNs = new Float64Array(models.length);
  const work: number[] = [];
  const rates = new RateLimits(experiment.tenants.list);
  const close = () => {
    work.push(workOf({ models, counts, withinNs: intervalNs, sloNsOf: (model) => sloNs[model] }));
    counts.fill(0);
  };
  for (;;) {
    if (source.starved) await source.refill();
    if (source.timeNs === Number.POSITIVE_INFINITY) break;
    while (source.timeNs >= (work.length + 1) * intervalNs) close();
    // Requests beyond a tenant's rate are refused with any number of GPUs.
    if (experiment.tenants.list.length === 0 || rates.take(source.tenant, source.timeNs)) {
      counts[source.model]++;
      sloNs[source.model] = source.sloNs;
    }
    source.advance();
  }
  close();
  return work;
}
