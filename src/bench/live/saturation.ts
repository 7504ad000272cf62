import { runLive } from '../../serving/run-live.js';
import { type Bench, experimentOf, prepare, roomySloMs, type Subject } from './subject.js';

export interface Saturation {
  /** Requests per second that the device serves under a load of twice what it can. */
  readonly liveRps: number;
  /** What the same batches take back to back, called from a loop: the profile of the model. */
  readonly directRps: number;
  /** Share of the run in which the EXEC lane was busy. */
  readonly execUtilization: number;
  readonly inferByBatch: Readonly<Record<string, number>>;
}

const OVERLOAD = 2;

/** How much of the device's time is left for inference when everything else is at work, too. */
export async function measureSaturation(
  bench: Bench,
  subject: Subject,
  seconds: number,
): Promise<Saturation> {
  const profile = await prepare(bench, subject);
  const { batches } = profile;
  const rps = batches.map(({ batch, medianMs }) => (1000 * batch) / medianMs);
  const rate = (OVERLOAD * Math.max(...rps)).toFixed(1);
  const experiment = await experimentOf(bench, {
    subjects: [subject],
    workload: `{ kind: poisson, rate: ${rate}/s, duration: ${seconds}s }`,
    sloMs: roomySloMs([profile]),
    seconds,
  });
  const { summary } = (await runLive(experiment)).result;
  const { inferByBatch } = summary.actions;
  // Back to back, the same number of INFERs of each batch size would have taken:
  let directMs = 0;
  for (const { batch, medianMs } of batches) directMs += (inferByBatch[batch] ?? 0) * medianMs;
  const served = summary.requests.ok + summary.requests.late;
  return {
    liveRps: served / summary.durationSeconds,
    directRps: (1000 * served) / directMs,
    execUtilization: summary.gpu.execUtilization,
    inferByBatch,
  };
}
