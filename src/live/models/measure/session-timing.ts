import { MIB, NS_PER_S } from '../../core/units.js';
import { stream } from '../../random/streams.js';
import { monotonicNs } from '../clock.js';
import type { OrtDeviceSpec } from '../device.js';
import type { ModelSignature } from '../model.js';
import { ModelSession } from '../ort/session.js';
import { type Durations, summarize } from './durations.js';
import { randomInputs } from './random-inputs.js';
import type { OnProgress } from './thread-call.js';

export interface TimingSpec {
  readonly signature: ModelSignature;
  readonly batchSizes: readonly number[];
  readonly device: OrtDeviceSpec;
  /** INFERs at each batch size; null: as many as 2 s allow, but at least 30. */
  readonly runs: number | null;
}

export interface Timing {
  /** From weights in host memory to the moment when the first INFER may start. */
  readonly load: Durations;
  /** The same for the very first LOAD, which also sets up the device and compiles for it. */
  readonly firstLoadMs: number;
  /** One entry a batch size. */
  readonly batches: readonly BatchTiming[];
}

export interface BatchTiming extends Durations {
  /** Median right after other memory filled the caches, as another model's weights do; absent: no CPU's caches matter. */
  readonly afterOtherMs?: number;
}

/**
 * Times LOADs and INFERs of a model as an executor does them: an INFER lasts from its inputs in host memory to its
 * outputs in host memory. `modelBytes` is the optimised model. Blocks this thread in between.
 * `onProgress` gets the share that is done and what comes next.
 */
export async function timeSession(
  modelBytes: Uint8Array,
  spec: TimingSpec,
  onProgress: OnProgress,
): Promise<Timing> {
  const { signature, batchSizes, device } = spec;
  const steps = batchSizes.length + 1;
  const create = () => ModelSession.create(modelBytes, signature, batchSizes, device);

  onProgress(0, 'LOAD');
  const firstNs = await timed(async () => {
    await (await create()).release();
  });
  const loadsNs: number[] = [];
  const endNs = monotonicNs() + LOADS_NS;
  while (loadsNs.length < LOADS_MIN || (monotonicNs() < endNs && loadsNs.length < MOST_RUNS)) {
    const beginNs = monotonicNs();
    const session = await create();
    loadsNs.push(monotonicNs() - beginNs);
    await session.release();
  }

  const session = await create();
  const batches: BatchTiming[] = [];
  for (const [batchIndex, batchSize] of batchSizes.entries()) {
    onProgress((batchIndex + 1) / steps, `INFER at batch size ${batchSize}`);
    const hot = summarize(await timeRuns(session, batchIndex, batchSize, spec));
    batches.push(
      device.kind === 'cpu'
        ? { ...hot, afterOtherMs: await timeAfterOther(session, batchIndex, batchSize, spec) }
        : hot,
    );
  }
  await session.release();
  return { load: summarize(loadsNs), firstLoadMs: summarize([firstNs]).medianMs, batches };
}

const LOADS_MIN = 10;
const LOADS_NS = NS_PER_S;
const RUNS_MIN = 30;
const RUNS_NS = 2 * NS_PER_S;
const MOST_RUNS = 10_000;
/** More than the caches of a core hold. */
const SWEEP_BYTES = 64 * MIB;
const CACHE_LINE = 64;
const SWEPT_RUNS = 20;
/** Requests differ, and so do the places in memory where they lie. */
const INPUT_SETS = 4;

async function timeRuns(
  session: ModelSession,
  batchIndex: number,
  batchSize: number,
  { signature, runs }: TimingSpec,
): Promise<number[]> {
  const random = stream(1, 'profile-inputs');
  const sets = Array.from({ length: INPUT_SETS }, () => randomInputs(signature, batchSize, random));
  const durationsNs: number[] = [];
  const endNs = monotonicNs() + RUNS_NS;
  const goOn = () =>
    runs !== null
      ? durationsNs.length < runs
      : durationsNs.length < RUNS_MIN || (monotonicNs() < endNs && durationsNs.length < MOST_RUNS);
  while (goOn()) {
    const inputs = sets[durationsNs.length % INPUT_SETS];
    durationsNs.push(await timed(() => session.run(batchIndex, batchSize, inputs)));
  }
  return durationsNs;
}

/** Two models that take turns find their weights in memory, not in caches: measured, MobileNetV2 takes 1.7 times as long. */
async function timeAfterOther(
  session: ModelSession,
  batchIndex: number,
  batchSize: number,
  { signature, runs }: TimingSpec,
): Promise<number> {
  const inputs = randomInputs(signature, batchSize, stream(1, 'profile-inputs'));
  const sweep = new Uint8Array(SWEEP_BYTES);
  const durationsNs: number[] = [];
  for (let run = 0; run < Math.min(SWEPT_RUNS, runs ?? SWEPT_RUNS); run++) {
    for (let at = 0; at < sweep.length; at += CACHE_LINE) sweep[at]++;
    durationsNs.push(await timed(() => session.run(batchIndex, batchSize, inputs)));
  }
  return summarize(durationsNs).medianMs;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beginNs = monotonicNs();
  await work();
  return monotonicNs() - beginNs;
}
