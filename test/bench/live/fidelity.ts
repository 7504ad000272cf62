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
  sent: Sent,
  seconds: number,
  repeats: number,
  loads: readonly number[] = FIDELITY_LOADS,
): Promise<FidelityRun[]> {
  const profiles: Profile[] = [];
  for (const subject of sent.subjects) profiles.push(await prepare(bench, subject));
  const runs: FidelityRun[] = [];
  for (let repeat = 1; repeat <= repeats; repeat++) {
    const calibration = await calibrate(bench, sent, profiles, seconds / 2);
    for (const load of loads)
      runs.push({ repeat, ...(await compare(bench, sent, calibration, load, seconds)) });
  }
  return runs;
}

/** What requests are for: one model each, or all of them, one after the other. */
interface Sent {
  readonly subjects: readonly Subject[];
  readonly isChain?: boolean;
}

/** Requests a second that the device can do, and what they may take. */
function limitsOf(
  { isChain }: Sent,
  profiles: readonly Profile[],
): { readonly rps: number; readonly sloMs: number } {
  const steps = isChain ? profiles.length : 1;
  return { rps: capacityRps(profiles) / steps, sloMs: roomySloMs(profiles) * steps };
}

interface Calibration {
  readonly profiles: readonly Profile[];
  readonly files: readonly string[];
  readonly delays: MachineDelays;
}

async function calibrate(
  bench: Bench,
  sent: Sent,
  profiles: readonly Profile[],
  seconds: number,
): Promise<Calibration> {
  const times = new ServiceTimes();
  for (const load of CALIBRATION_LOADS) {
    const { rps, sloMs } = limitsOf(sent, profiles);
    const experiment = await experimentOf(bench, {
      ...{ ...sent, sloMs, seconds },
      workload: poisson(load * rps, seconds),
      seed: 2,
    });
    await run(experiment, live(), { observer: times });
  }
  const served = profiles.map((profile, model) => times.profile(profile, model));
  return {
    profiles: served,
    files: write(bench, sent.subjects, served, 'in-service'),
    delays: times.delays(),
  };
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
  sent: Sent,
  { profiles, files, delays }: Calibration,
  load: number,
  seconds: number,
): Promise<Omit<FidelityRun, 'repeat'>> {
  const { rps, sloMs } = limitsOf(sent, profiles);
  const rateRps = load * rps;
  const workload = { ...{ ...sent, delays, seconds, sloMs }, workload: poisson(rateRps, seconds) };
  const experiment = await experimentOf(bench, { ...workload, profiles: files });
  const times = new ServiceTimes();
  const { summary } = (await run(experiment, live(), { observer: times })).result;
  const ofRun = profiles.map((profile, model) => times.profile(profile, model));
  const again = await experimentOf(bench, {
    ...workload,
    profiles: write(bench, sent.subjects, ofRun, 'of-run'),
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
