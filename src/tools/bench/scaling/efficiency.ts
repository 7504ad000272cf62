import { NS_PER_MS, NS_PER_S } from '../../../base/units.js';
import { type Estimate, estimate } from '../../../report/statistics.js';
import type { PointTrials, Trial } from './trial.js';

/** A mean with the standard deviation that follows from those of what it is made of. */
interface Ratio {
  readonly mean: number;
  readonly sd: number;
}

/** How well the GPUs of one point were used, compared with those of the base, the fewest GPUs. */
export interface Efficiency {
  /** Time of a trial, s. */
  readonly tookS: Estimate;
  readonly throughputRps: number;
  /** Requests per second compared with the base. */
  readonly speedUp: Ratio;
  /** What it would be if nothing were lost. */
  readonly ideal: number;
  /** Requests per second and GPU compared with the base. */
  readonly efficiency: Ratio;
  readonly factors: Factors;
  readonly activity: Activity;
}

/** Efficiency is their product. 1: as at the base. */
interface Factors {
  /** How busy the GPUs are. */
  readonly busy: number;
  /** How little the batches that were used take for a request, by the profile. */
  readonly batches: number;
  /** How fast INFERs are, compared with the profile. */
  readonly device: number;
}

/** What went on, on average over all trials of a point. */
interface Activity {
  /** Share of the time in which EXEC lanes were busy: of all GPUs, and of the least busy. */
  readonly execMean: number;
  readonly execMin: number;
  /** Requests of an INFER. */
  readonly meanBatch: number;
  /** LOADs of a trial. */
  readonly loads: number;
  /** Share of the requests that had to be sent again. */
  readonly failedShare: number;
  /** Share of the time in which the event loop of the controller's thread was busy, with the clients in it. */
  readonly loopBusy: number;
  /** Share of the time that the core's decisions took. */
  readonly stepShare: number;
  /** Share of the time in which that thread waited for a core that others used; null: not known. */
  readonly waitShare: number | null;
  /** Processors that the process used. */
  readonly cores: number;
  /** p99, ms: from the end of an INFER until the controller knows; from when a request was due until it was sent. */
  readonly resultDelayMs: number;
  readonly latenessMs: number;
}

/** How much of the base's efficiency each point keeps. The first is the base; each has at least one trial. */
export function efficiencies(points: readonly PointTrials[]): Efficiency[] {
  const [base] = points;
  return points.map((point) => compare(point, base));
}

function compare(point: PointTrials, base: PointTrials): Efficiency {
  const [here, there] = [sums(point), sums(base)];
  const ideal = point.gpus / base.gpus;
  const ratio = here.requests / here.tookNs / (there.requests / there.tookNs);
  const tookS = tookOf(point);
  // The base has no error compared with itself.
  const relative = point === base ? 0 : Math.hypot(relativeSd(tookS), relativeSd(tookOf(base)));
  return {
    tookS,
    throughputRps: (here.requests * NS_PER_S) / here.tookNs,
    speedUp: { mean: ratio, sd: ratio * relative },
    ideal,
    efficiency: { mean: ratio / ideal, sd: (ratio / ideal) * relative },
    factors: {
      busy: utilisation(point) / utilisation(base),
      batches: there.profileNs / there.requests / (here.profileNs / here.requests),
      device: there.busyNs / there.profileNs / (here.busyNs / here.profileNs),
    },
    activity: activityOf(point),
  };
}

function activityOf(point: PointTrials): Activity {
  const { trials, latenessP99Ns } = point;
  const { tookNs, requests, infers, loads, failed, stepNs } = sums(point);
  const overTime = (of: (trial: Trial) => number) =>
    trials.reduce((sum, trial) => sum + of(trial) * trial.tookNs, 0) / tookNs;
  const busyOfGpu = trials[0].busyNs.map((_, gpu) =>
    trials.reduce((sum, { busyNs }) => sum + busyNs[gpu], 0),
  );
  return {
    execMean: utilisation(point),
    execMin: Math.min(...busyOfGpu) / tookNs,
    meanBatch: requests / infers,
    loads: loads / trials.length,
    failedShare: failed / requests,
    loopBusy: overTime(({ loopBusy }) => loopBusy),
    stepShare: stepNs / tookNs,
    waitShare: trials.some(({ waitNs }) => waitNs === null)
      ? null
      : trials.reduce((sum, { waitNs }) => sum + (waitNs ?? 0), 0) / tookNs,
    cores: overTime(({ cores }) => cores),
    resultDelayMs: Math.max(...trials.map(({ resultDelayP99Ns }) => resultDelayP99Ns)) / NS_PER_MS,
    latenessMs: latenessP99Ns / NS_PER_MS,
  };
}

/** Share of the time in which the EXEC lanes of all GPUs were busy. */
function utilisation(point: PointTrials): number {
  const { busyNs, tookNs } = sums(point);
  return busyNs / (point.gpus * tookNs);
}

type Sums = Record<
  'tookNs' | 'requests' | 'busyNs' | 'profileNs' | 'infers' | 'loads' | 'failed' | 'stepNs',
  number
>;

/** Over all trials of a point. */
function sums({ trials }: PointTrials): Sums {
  const sum = (of: (trial: Trial) => number) => trials.reduce((total, trial) => total + of(trial), 0);
  return {
    tookNs: sum(({ tookNs }) => tookNs),
    requests: sum(({ requests }) => requests),
    busyNs: sum(({ busyNs }) => busyNs.reduce((total, ns) => total + ns, 0)),
    profileNs: sum(({ profileNs }) => profileNs),
    infers: sum(({ infers }) => infers),
    loads: sum(({ loads }) => loads),
    failed: sum(({ failed }) => failed),
    stepNs: sum(({ stepNs }) => stepNs),
  };
}

function tookOf({ trials }: PointTrials): Estimate {
  return estimate(trials.map(({ tookNs }) => tookNs / NS_PER_S));
}

function relativeSd({ mean, sd }: Estimate): number {
  return sd / mean;
}
