import type { Summary } from '../../../src/record/results.js';
import { live } from '../../../src/run/live.js';
import { run } from '../../../src/run/run.js';
import { simulate } from '../../../src/run/simulated.js';
import { measureDelays } from './delays.js';
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

interface Fidelity {
  readonly delays: MachineDelays;
  readonly rows: readonly FidelityRow[];
}

const CALIBRATION_LOAD = 0.9;
const FIDELITY_LOADS = [0.3, 0.6, 0.9, 1.2];

/**
 * The same arrivals of the same experiment live and in simulation, at shares of the device's capacity. Of several live
 * runs the median of each figure counts.
 */
export async function measureFidelity(
  bench: Bench,
  subjects: readonly Subject[],
  seconds: number,
  repeats: number,
): Promise<Fidelity> {
  const profiles = [];
  for (const subject of subjects) profiles.push(await prepare(bench, subject));
  const measured: MachineDelays[] = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    measured.push(
      await measureDelays(bench, subjects, CALIBRATION_LOAD * capacityRps(profiles), seconds / 2),
    );
  }
  const delays = {
    delayNs: median(measured.map(({ delayNs }) => delayNs)),
    overheadNs: median(measured.map(({ overheadNs }) => overheadNs)),
  };
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
    const runs: Figures[] = [];
    for (let repeat = 0; repeat < repeats; repeat++)
      runs.push(figuresOf((await run(experiment, live())).result.summary));
    rows.push({
      load,
      live: medians(runs),
      simulated: figuresOf((await simulate(experiment)).summary),
    });
  }
  return { delays, rows };
}

function medians(runs: readonly Figures[]): Figures {
  const middle = (figure: keyof Figures) => median(runs.map((run) => run[figure]));
  return { goodputRps: middle('goodputRps'), p50Ms: middle('p50Ms'), p99Ms: middle('p99Ms') };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

function figuresOf({ goodputRps, executedLatencyMs: { p50, p99 } }: Summary): Figures {
  return { goodputRps, p50Ms: p50 ?? Number.NaN, p99Ms: p99 ?? Number.NaN };
}
