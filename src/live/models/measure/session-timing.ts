import { monotonicNs } from '../../../base/clock/clock.js';
import { stream } from '../../../base/random/streams.js';
import { MIB, NS_PER_S } from '../../../base/units.js';
import type { OrtDeviceSpec } from '../../device.js';
import { hasFreeSizes, type ModelSignature, type Shape, withSizes } from '../../model.js';
import { onnxruntime } from '../../ort/onnxruntime.js';
import { ModelSession } from '../../ort/session.js';
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

interface BatchTiming extends Durations {
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

  // Loading the library is no part of any LOAD.
  onnxruntime();
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
  const sized = hasFreeSizes(signature)
    ? { ...spec, signature: await smallestSizes(session, signature) }
    : spec;
  const batches: BatchTiming[] = [];
  for (const [batchIndex, batchSize] of batchSizes.entries()) {
    onProgress((batchIndex + 1) / steps, `INFER at batch size ${batchSize}`);
    const hot = summarize(await timeRuns(session, batchIndex, batchSize, sized));
    batches.push(
      device.kind === 'cpu'
        ? { ...hot, afterOtherMs: await timeAfterOther(session, batchIndex, batchSize, sized) }
        : hot,
    );
  }
  await session.release();
  return { load: summarize(loadsNs), firstLoadMs: summarize([firstNs]).medianMs, batches };
}

/** Sizes that are tried where requests choose them. */
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** The model with the smallest sizes that it takes. How long others take is learned from requests. */
async function smallestSizes(session: ModelSession, signature: ModelSignature): Promise<ModelSignature> {
  let problem: unknown = null;
  for (const size of SIZES) {
    const sized = withSizes(signature, size);
    try {
      const inputs = randomInputs(sized, 1, stream(1, 'profile-inputs'));
      await session.run(0, 1, inputs, shapesOf(sized));
      return sized;
    } catch (error) {
      problem ??= error;
    }
  }
  throw problem;
}

function shapesOf({ inputs }: ModelSignature): readonly Shape[] {
  return inputs.map(({ shape }) => shape);
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
    durationsNs.push(await timed(() => session.run(batchIndex, batchSize, inputs, shapesOf(signature))));
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
    durationsNs.push(await timed(() => session.run(batchIndex, batchSize, inputs, shapesOf(signature))));
  }
  return summarize(durationsNs).medianMs;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beginNs = monotonicNs();
  await work();
  return monotonicNs() - beginNs;
}
