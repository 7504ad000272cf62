import { Worker as Thread } from 'node:worker_threads';
import { Clock } from '../../../base/clock/clock.js';
import { compiledNextTo } from '../../../base/compiled.js';
import { NS_PER_MS, NS_PER_S } from '../../../base/units.js';
import { WakeTimer } from '../../../live/controller/wake-timer.js';
import { type Durations, summarize } from '../../../live/models/measure/durations.js';
import type { Gaps } from './gaps.js';
import { nextWaitNs } from './waits.js';

/** How well this machine keeps time. Latenesses are of waits between 1 and 5 ms. */
export interface Timing {
  /** A thread that blocks as those do that execute: how late it goes on. */
  readonly thread: Durations;
  /** The controller's timer: how late it calls back. */
  readonly timer: Durations;
  readonly gaps: Gaps;
}

/** What the thread is asked to do, and for how long. */
export interface TimingSpec {
  readonly task: 'wait' | 'spin';
  readonly durationNs: number;
}

export type TimingReport =
  | { readonly task: 'wait'; readonly latenessNs: readonly number[] }
  | { readonly task: 'spin'; readonly gaps: Gaps };

/** Long enough to meet what happens a few times a second. */
const MEASURE_NS = 2 * NS_PER_S;

/**
 * Measures for `durationNs` how late timers fire, then for as long again how often a busy thread is interrupted.
 * Nothing else should run in this process meanwhile.
 */
export async function measureTiming(durationNs: number = MEASURE_NS): Promise<Timing> {
  const [waits, timerNs] = await Promise.all([
    inThread({ task: 'wait', durationNs }),
    timerLateness(durationNs),
  ]);
  const spin = await inThread({ task: 'spin', durationNs });
  if (waits.task !== 'wait' || spin.task !== 'spin') throw new Error('a timing thread did another task');
  return { thread: summarize(waits.latenessNs), timer: summarize(timerNs), gaps: spin.gaps };
}

function timerLateness(durationNs: number): Promise<number[]> {
  const clock = new Clock();
  const latenessNs: number[] = [];
  return new Promise((resolve) => {
    const timer = new WakeTimer(clock, (lateNs) => {
      latenessNs.push(lateNs);
      const nowNs = clock.nowNs();
      if (nowNs >= durationNs) resolve(latenessNs);
      else timer.set(nowNs + nextWaitNs(latenessNs.length));
    });
    timer.set(NS_PER_MS);
  });
}

function inThread(spec: TimingSpec): Promise<TimingReport> {
  return new Promise((resolve, reject) => {
    const thread = new Thread(compiledNextTo(import.meta.url, 'timing-thread.js'), { workerData: spec });
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', (status) => reject(new Error(`the timing thread ended with status ${status}`)));
  });
}
