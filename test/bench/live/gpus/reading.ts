import { metricSum } from '../../../../src/tools/bench/stages.js';

/** What has been used up, and has happened, since the start. */
export interface Reading {
  readonly cpuUs: number;
  readonly schedulerUs: number;
  readonly workersUs: number;
  readonly actions: number;
  readonly journalBytes: number;
  /** Steps of the scheduler that took at most `le` seconds, by `le` ascending. */
  readonly steps: readonly { readonly le: number; readonly count: number }[];
}

/** What the controller's metrics add to a reading. */
export function metricsReading(text: string): Pick<Reading, 'actions' | 'steps'> {
  const found = text.matchAll(/^escapement_step_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm);
  const steps = Array.from(found, ([, le, count]) => ({
    le: le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le),
    count: Number(count),
  }));
  return { actions: metricSum(text, 'escapement_actions_total'), steps };
}

export function delta(before: Reading, after: Reading): Reading {
  return {
    cpuUs: after.cpuUs - before.cpuUs,
    schedulerUs: after.schedulerUs - before.schedulerUs,
    workersUs: after.workersUs - before.workersUs,
    actions: after.actions - before.actions,
    journalBytes: after.journalBytes - before.journalBytes,
    steps: after.steps.map(({ le, count }, i) => ({ le, count: count - (before.steps[i]?.count ?? 0) })),
  };
}

/** Upper bound of the bucket that has the quantile, µs: a histogram knows no better. */
export function stepUs(steps: Reading['steps'], quantile: number): number {
  const all = steps.at(-1)?.count ?? 0;
  const bucket = steps.find(({ count }) => count >= quantile * all);
  return Math.round(1e6 * (bucket?.le ?? 0));
}
