import { NS_PER_MS } from '../../core/units.js';
import type { Durations } from '../../live/profile/durations.js';
import { type Check, ROLES } from '../check.js';
import { advise, judged } from '../verdict.js';
import type { Timing } from './timing.js';

/** Of an objective of tens of milliseconds, what a wait may take away unnoticed. */
const THREAD_P99_MS = 1;
/** The controller's timer counts in whole milliseconds, so up to one is its own. */
const TIMER_P99_MS = 2;
/** Half of the 10 ms by which an action may start later than planned (policy.latestDelta). */
const LONGEST_GAP_MS = 5;
const LONG_GAPS_PER_S = 10;
const LOST_SHARE = 0.02;

/** Whether what was measured lets a schedule be kept. */
export function timingChecks({ thread, timer, gaps }: Timing): Check[] {
  const longestMs = gaps.longestNs / NS_PER_MS;
  return [
    judged(
      {
        id: 'timing.thread',
        title: 'Waits of a thread that executes',
        requiredFor: ['worker'],
        wanted: `99 % less than ${THREAD_P99_MS} ms late`,
        why: 'An action starts so much later than planned, and one that is later than its window is dropped.',
      },
      thread.p99Ms < THREAD_P99_MS,
      latenessText(thread),
      REST,
    ),
    judged(
      {
        id: 'timing.timer',
        title: "The controller's timer",
        requiredFor: ['controller'],
        wanted: `99 % less than ${TIMER_P99_MS} ms late`,
        why: 'Decisions come so much later; GPUs run dry, or have to be given work further ahead.',
      },
      timer.p99Ms < TIMER_P99_MS,
      latenessText(timer),
      REST,
    ),
    judged(
      {
        id: 'timing.jitter',
        title: 'A thread keeps its processor',
        requiredFor: ROLES,
        wanted: `no gap above ${LONGEST_GAP_MS} ms, at most ${LONG_GAPS_PER_S} a second above 1 ms, at most ${percent(LOST_SHARE)} lost`,
        why: 'Whatever is measured or planned is off by the gaps: others use the processor, or the hypervisor gives it away.',
      },
      longestMs <= LONGEST_GAP_MS && gaps.longPerS <= LONG_GAPS_PER_S && gaps.lostShare <= LOST_SHARE,
      `longest gap ${milliseconds(longestMs)}, ${gaps.longPerS.toFixed(1)} a second above 1 ms, ${percent(gaps.lostShare)} lost`,
      REST,
    ),
  ];
}

const REST = advise(
  'end or move what else runs here, isolate processors, take a machine whose processors are not shared',
);

function latenessText({ medianMs, p99Ms, maxMs }: Durations): string {
  return `late by ${milliseconds(medianMs)} (p50), ${milliseconds(p99Ms)} (p99), ${milliseconds(maxMs)} (max)`;
}

function milliseconds(ms: number): string {
  return ms < 0.1 ? `${(ms * 1000).toFixed(1)} µs` : `${ms.toFixed(2)} ms`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
