import { NS_PER_MS } from '../../../base/units.js';
import type { Durations } from '../../../live/models/measure/durations.js';
import { formatPercent } from '../../../text/numbers.js';
import { type Check, ROLES } from '../check.js';
import { advise, checked } from '../verdict.js';
import type { Timing } from './timing.js';

/** Of an SLO of tens of milliseconds, what a wait may take away unnoticed. */
const THREAD_P99_MS = 1;
/** The controller's timer counts in whole milliseconds, so up to one is its own. */
const TIMER_P99_MS = 2;
/** Half of the 10 ms by which `clockwork` lets an action start later than planned. */
const LONGEST_GAP_MS = 5;
const LONG_GAPS_PER_S = 10;
const LOST_SHARE = 0.02;

/** Whether what was measured lets a schedule be kept. */
export function timingChecks({ thread, timer, gaps }: Timing): Check[] {
  const longestMs = gaps.longestNs / NS_PER_MS;
  return [
    checked(
      {
        id: 'timing.thread',
        title: 'Wake-ups of an execution thread',
        requiredFor: ['worker'],
        wanted: `p99 below ${THREAD_P99_MS} ms`,
        why: 'Actions start this much later than planned, and those that miss their window are dropped.',
      },
      thread.p99Ms < THREAD_P99_MS,
      latenessText(thread),
      REST,
    ),
    checked(
      {
        id: 'timing.timer',
        title: "The controller's timer",
        requiredFor: ['controller'],
        wanted: `p99 below ${TIMER_P99_MS} ms`,
        why: 'Decisions come this much later; GPUs run out of work, or need it further ahead.',
      },
      timer.p99Ms < TIMER_P99_MS,
      latenessText(timer),
      REST,
    ),
    checked(
      {
        id: 'timing.jitter',
        title: 'A thread keeps its core',
        requiredFor: ROLES,
        wanted: `no gap above ${LONGEST_GAP_MS} ms, at most ${LONG_GAPS_PER_S} above 1 ms a second, at most ${formatPercent(LOST_SHARE)} of the time lost`,
        why: 'Measurements and plans are off by the gaps: other programs use the core, or the hypervisor takes it away.',
      },
      longestMs <= LONGEST_GAP_MS && gaps.longPerS <= LONG_GAPS_PER_S && gaps.lostShare <= LOST_SHARE,
      `longest gap ${milliseconds(longestMs)}, ${gaps.longPerS.toFixed(1)} above 1 ms a second, ${formatPercent(gaps.lostShare)} of the time lost`,
      REST,
    ),
  ];
}

const REST = advise(
  'stop or move other programs, isolate cores, or use a machine whose cores are not shared',
);

function latenessText({ medianMs, p99Ms, maxMs }: Durations): string {
  return `late by ${milliseconds(medianMs)} (p50), ${milliseconds(p99Ms)} (p99), ${milliseconds(maxMs)} (max)`;
}

function milliseconds(ms: number): string {
  return ms < 0.1 ? `${(ms * 1000).toFixed(1)} µs` : `${ms.toFixed(2)} ms`;
}
