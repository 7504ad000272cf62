import { type Action, INFER, STATUS_OK } from '../../../src/core/action.js';
import type { RunObserver } from '../../../src/core/observer.js';
import { Histogram } from '../../../src/record/histogram.js';
import { live } from '../../../src/run/live.js';
import { run } from '../../../src/run/run.js';
import { type Bench, capacityRps, experimentOf, prepare, type Subject } from './subject.js';

interface Predictability {
  readonly offered: number;
  readonly admitted: number;
  /** Of those, answered within their SLO. */
  readonly inTime: number;
  /** How much longer than predicted an INFER took, and how much shorter, ms at the 99th percentile. */
  readonly underP99Ms: number;
  readonly overP99Ms: number;
  readonly p99Ms: number | null;
}

/** Several models at a share of the device's capacity: do those that were let in get their answers in time? */
export async function measurePredictability(
  bench: Bench,
  subjects: readonly Subject[],
  load: number,
  sloMs: number,
  seconds: number,
): Promise<Predictability> {
  const profiles = [];
  for (const subject of subjects) profiles.push(await prepare(bench, subject));
  const rate = (load * capacityRps(profiles)).toFixed(2);
  const experiment = await experimentOf(bench, {
    subjects,
    workload: `{ kind: poisson, rate: ${rate}/s, duration: ${seconds}s }`,
    sloMs,
    seconds,
    admission: 'predict',
    // A hiccup of the machine makes an INFER start late; its requests may still be in time.
    policy: '{ kind: clockwork, scheduleAhead: 10ms, latestDelta: 50ms }',
  });
  const errors = new PredictionErrors();
  const { summary } = (await run(experiment, live(), { observer: errors })).result;
  const { requests, executedLatencyMs } = summary;
  return {
    offered: requests.offered,
    admitted: requests.offered - requests.rejected,
    inTime: requests.ok,
    underP99Ms: errors.under.percentile(99) / 1e6,
    overP99Ms: errors.over.percentile(99) / 1e6,
    p99Ms: executedLatencyMs.p99,
  };
}

class PredictionErrors implements RunObserver {
  readonly under = new Histogram();
  readonly over = new Histogram();

  answered(): void {
    // Only actions are looked at.
  }

  completed({ kind, status, beginNs, endNs, expectedDurationNs }: Action): void {
    if (kind !== INFER || status !== STATUS_OK) return;
    const errorNs = endNs - beginNs - expectedDurationNs;
    this.under.record(Math.max(0, errorNs));
    this.over.record(Math.max(0, -errorNs));
  }
}
