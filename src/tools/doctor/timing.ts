import { Worker as Thread } from 'node:worker_threads';
import { compiledNextTo } from '../../base/compiled.js';
import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import { type Durations, summarize } from '../../live/models/measure/until-stable.js';
import { formatPercent } from '../../text/numbers.js';
import { advise, ROLES, type Row } from './check.js';

/** Timing precision of this machine. */
export interface Timing {
  /** Lateness of a thread that blocks for 1 to 5 ms as executing threads do. */
  readonly thread: Durations;
  readonly gaps: Gaps;
}

/** Times during which a busy thread did not run. */
export interface Gaps {
  readonly longestNs: number;
  /** Number of gaps above 1 ms per second. */
  readonly longPerS: number;
  /** Share of the time lost in gaps above 50 µs: other programs or the hypervisor had this core. */
  readonly lostShare: number;
}

/** Task of the thread, with its duration. */
export interface TimingSpec {
  readonly task: 'wait' | 'spin';
  readonly durationNs: number;
}

/** Tolerated p99 of a wait: a small part of an SLO of tens of milliseconds. */
const THREAD_P99_MS = 1;
/** Half of the 10 ms by which `clockwork` lets an action start later than planned. */
const LONGEST_GAP_MS = 5;
const LONG_GAPS_PER_S = 10;
const LOST_SHARE = 0.02;
const REST = advise(
  'stop or move other programs, isolate cores, or use a machine whose cores are not shared',
);

export const TIMING: readonly Row<Timing>[] = [
  {
    id: 'timing.thread',
    title: 'Wake-ups of an execution thread',
    requiredFor: ['worker'],
    wanted: `p99 below ${THREAD_P99_MS} ms`,
    why: 'Actions start this much later than planned, and those that miss their window are dropped.',
    read: ({ thread }) => ({ ok: thread.p99Ms < THREAD_P99_MS, found: latenessText(thread), fix: REST }),
  },
  {
    id: 'timing.jitter',
    title: 'A thread keeps its core',
    requiredFor: ROLES,
    wanted: `no gap above ${LONGEST_GAP_MS} ms, at most ${LONG_GAPS_PER_S} above 1 ms per second, at most ${formatPercent(LOST_SHARE)} of the time lost`,
    why: 'Measurements and plans are off by the gaps: other programs use the core, or the hypervisor takes it away.',
    read: ({ gaps: { longestNs, longPerS, lostShare } }) => ({
      ok: longestNs <= LONGEST_GAP_MS * NS_PER_MS && longPerS <= LONG_GAPS_PER_S && lostShare <= LOST_SHARE,
      found: `longest gap ${milliseconds(longestNs / NS_PER_MS)}, ${longPerS.toFixed(1)} above 1 ms per second, ${formatPercent(lostShare)} of the time lost`,
      fix: REST,
    }),
  },
];

function latenessText({ medianMs, p99Ms, maxMs }: Durations): string {
  return `late by ${milliseconds(medianMs)} (p50), ${milliseconds(p99Ms)} (p99), ${milliseconds(maxMs)} (max)`;
}

function milliseconds(ms: number): string {
  return ms < 0.1 ? `${(ms * 1000).toFixed(1)} µs` : `${ms.toFixed(2)} ms`;
}

/** Long enough to catch events that occur a few times a second. */
const MEASURE_NS = 2 * NS_PER_S;

/**
 * Measures for `durationNs` how late a thread wakes up, then for equally long how often a busy one is interrupted.
 * Nothing else should run in this process meanwhile.
 */
export async function measureTiming(durationNs = MEASURE_NS): Promise<Timing> {
  const waitsNs = await inThread<number[]>({ task: 'wait', durationNs });
  const gaps = await inThread<Gaps>({ task: 'spin', durationNs });
  return { thread: summarize(waitsNs), gaps };
}

function inThread<Result>(spec: TimingSpec): Promise<Result> {
  return new Promise((resolve, reject) => {
    const thread = new Thread(compiledNextTo(import.meta.url, 'timing-thread.js'), { workerData: spec });
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', (status) => reject(new Error(`the timing thread ended with status ${status}`)));
  });
}

/** Waits of 1 to 5 ms, none a whole number of milliseconds, so that kernel ticks favor none. */
export function nextWaitNs(wait: number): number {
  return Math.round((1 + ((wait * 0.37) % 4)) * NS_PER_MS);
}

const GAP_NS = 50_000;
/** Time for the code to be compiled and warm. */
const WARM_UP_NS = 50 * NS_PER_MS;

/** Reads the clock continuously for `durationNs`. `nowNs` may return fractions. */
export function measureGaps(durationNs: number, nowNs: () => number): Gaps {
  spin(WARM_UP_NS, nowNs);
  return spin(durationNs, nowNs);
}

function spin(durationNs: number, nowNs: () => number): Gaps {
  const beginNs = nowNs();
  let lastNs = beginNs;
  let longestNs = 0;
  let long = 0;
  let lostNs = 0;
  while (lastNs - beginNs < durationNs) {
    const readNs = nowNs();
    const gapNs = readNs - lastNs;
    lastNs = readNs;
    if (gapNs < GAP_NS) continue;
    lostNs += gapNs;
    if (gapNs > longestNs) longestNs = gapNs;
    if (gapNs > NS_PER_MS) long++;
  }
  const tookNs = lastNs - beginNs;
  return { longestNs, longPerS: (long * NS_PER_S) / tookNs, lostShare: lostNs / tookNs };
}
