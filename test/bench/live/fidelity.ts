import { join } from 'node:path';
import { writeWhole } from '../../../src/base/files/output-file.js';
import type { Profile } from '../../../src/config/profile.js';
import type { Summary } from '../../../src/record/results.js';
import { live } from '../../../src/run/live.js';
import { run } from '../../../src/run/run.js';
import { simulate } from '../../../src/run/simulated.js';
import { ServiceTimes } from './service-times.js';
import {
  type Bench,
  capacityRps,
  experimentOf,
  type MachineDelays,
  prepare,
  roomySloMs,
  type Subject,
  WARM_UP_S,
} from './subject.js';

export interface Figures {
  readonly goodputRps: number;
  /** Share of the offered requests that were answered in time, 0 to 1. */
  readonly attainment: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/**
 * One load, live and simulated, right after the machine was calibrated. `simulated` is the prediction; `resimulated` takes
 * its durations from the live run itself, so that what is left is no drift of the machine between the two.
 */
export interface FidelityRun {
  readonly repeat: number;
  readonly load: number;
  readonly rateRps: number;
  readonly delays: MachineDelays;
  readonly live: Figures;
  readonly simulated: Figures;
  readonly resimulated: Figures;
}

/** The loads of the calibration reach from an idle lane to large batches. */
const CALIBRATION_LOADS = [0.4, 0.8, 1.2];
const FIDELITY_LOADS = [0.3, 0.6, 0.9, 1, 1.2];

/**
 * The same arrivals of the same experiment live and in simulation, at shares of the device's capacity. A machine's speed
 * drifts, so each repetition first measures how long INFERs take in service now, and both clocks use these profiles.
 */
export async function measureFidelity(
  bench: Bench,
  subjects: readonly Subject[],
  seconds: number,
  repeats: number,
  loads: readonly number[] = FIDELITY_LOADS,
): Promise<FidelityRun[]> {
  const profiles: Profile[] = [];
  for (const subject of subjects) profiles.push(await prepare(bench, subject));
  const runs: FidelityRun[] = [];
  for (let repeat = 1; repeat <= repeats; repeat++) {
    const calibration = await calibrate(bench, subjects, profiles, seconds / 2);
    for (const load of loads)
      runs.push({ repeat, ...(await compare(bench, subjects, calibration, load, seconds)) });
  }
  return runs;
}

interface Calibration {
  readonly profiles: readonly Profile[];
  readonly files: readonly string[];
  readonly delays: MachineDelays;
}

async function calibrate(
  bench: Bench,
  subjects: readonly Subject[],
  profiles: readonly Profile[],
  seconds: number,
): Promise<Calibration> {
  const times = new ServiceTimes();
  for (const load of CALIBRATION_LOADS) {
    const experiment = await experimentOf(bench, {
      subjects,
      workload: poisson(load * capacityRps(profiles), seconds),
      sloMs: roomySloMs(profiles),
      seconds,
      seed: 2,
    });
    await run(experiment, live(), { observer: times });
  }
  const served = profiles.map((profile, model) => times.profile(profile, model));
  return { profiles: served, files: write(bench, subjects, served, 'in-service'), delays: times.delays() };
}

/** Writes a profile next to each model. Returns the files. */
function write(
  bench: Bench,
  subjects: readonly Subject[],
  profiles: readonly Profile[],
  what: string,
): string[] {
  return subjects.map(({ name }, i) => {
    const file = join(bench.repository, name, `profile.${what}.json`);
    writeWhole(file, JSON.stringify(profiles[i]));
    return file;
  });
}

async function compare(
  bench: Bench,
  subjects: readonly Subject[],
  { profiles, files, delays }: Calibration,
  load: number,
  seconds: number,
): Promise<Omit<FidelityRun, 'repeat'>> {
  const rateRps = load * capacityRps(profiles);
  const workload = {
    ...{ subjects, delays, seconds },
    workload: poisson(rateRps, seconds),
    sloMs: roomySloMs(profiles),
  };
  const experiment = await experimentOf(bench, { ...workload, profiles: files });
  const times = new ServiceTimes();
  const { summary } = (await run(experiment, live(), { observer: times })).result;
  const ofRun = profiles.map((profile, model) => times.profile(profile, model));
  const again = await experimentOf(bench, {
    ...workload,
    profiles: write(bench, subjects, ofRun, 'of-run'),
  });
  return {
    ...{ load, rateRps, delays },
    live: figuresOf(summary),
    simulated: figuresOf((await simulate(experiment)).summary),
    resimulated: figuresOf((await simulate(again)).summary),
  };
}

/** `seconds` count, after the warm-up. */
function poisson(rateRps: number, seconds: number): string {
  return `{ kind: poisson, rate: ${rateRps.toFixed(2)}/s, duration: ${seconds + WARM_UP_S}s }`;
}

function figuresOf({ goodputRps, attainment, executedLatencyMs: { p50, p99 } }: Summary): Figures {
  return {
    goodputRps: goodputRps ?? Number.NaN,
    attainment: attainment ?? Number.NaN,
    p50Ms: p50 ?? Number.NaN,
    p99Ms: p99 ?? Number.NaN,
  };
}
