import { simulate } from '../../experiment/simulate.js';
import type { Summary } from '../../metrics/results.js';
import { runLive } from '../../serving/run-live.js';
import {
  type Bench,
  capacityRps,
  experimentOf,
  type MachineDelays,
  prepare,
  roomySloMs,
  type Subject,
} from './subject.js';

/** One load, live and simulated. */
export interface FidelityRow {
  readonly load: number;
  readonly live: Figures;
  readonly simulated: Figures;
}

interface Figures {
  readonly goodputRps: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export const FIDELITY_LOADS = [0.3, 0.6, 0.9, 1.2];

/** The same arrivals of the same experiment live and in simulation, at shares of the device's capacity. */
export async function measureFidelity(
  bench: Bench,
  subjects: readonly Subject[],
  delays: MachineDelays,
  seconds: number,
): Promise<FidelityRow[]> {
  const profiles = [];
  for (const subject of subjects) profiles.push(await prepare(bench, subject));
  const rows: FidelityRow[] = [];
  for (const load of FIDELITY_LOADS) {
    const rate = (load * capacityRps(profiles)).toFixed(2);
    const experiment = await experimentOf(bench, {
      subjects,
      workload: `{ kind: poisson, rate: ${rate}/s, duration: ${seconds}s }`,
      sloMs: roomySloMs(profiles),
      seconds,
      delays,
    });
    const live = await runLive(experiment);
    rows.push({
      load,
      live: figuresOf(live.result.summary),
      simulated: figuresOf((await simulate(experiment)).summary),
    });
  }
  return rows;
}

function figuresOf({ goodputRps, latencyMs }: Summary): Figures {
  return { goodputRps, p50Ms: latencyMs.p50 ?? Number.NaN, p99Ms: latencyMs.p99 ?? Number.NaN };
}
