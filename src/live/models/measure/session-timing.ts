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
import { timeUntilStable } from './until-stable.js';

export interface TimingSpec {
  readonly signature: ModelSignature;
  readonly batchSizes: readonly number[];
  readonly device: OrtDeviceSpec;
  /** INFERs at each batch size; null: until their figures are stable or `budgetNs` is spent. */
  readonly runs: number | null;
  /** For the whole model. What is measured at least may take longer. Default: 3 s. */
  readonly budgetNs?: number;
}

export const MEASURE_BUDGET_NS = 3 * NS_PER_S;

export interface Timing {
  /** From weights in host memory to the moment when the first INFER may start. */
  readonly load: Durations;
  /** The same for the very first LOAD, which also sets up the device and compiles for it. */
  readonly firstLoadMs: number;
  /** One entry per batch size. */
  readonly batches: readonly BatchTiming[];
}

interface BatchTiming extends Durations {
  /**
   * Median right after other memory filled the caches, as another model's weights do; absent: no CPU's caches matter, or
   * there was no time left.
   */
  readonly afterOtherMs?: number;
}

/**
 * Times LOADs and INFERs of a model as an executor does them: an INFER lasts from its inputs in host memory to its
 * outputs in host memory. `modelBytes` is the optimised model. Blocks this thread in between. `untilNs`: when the budget
 * is spent; every step gets its share of what is left. `onProgress` gets the share that is done and what comes next.
 */
export async function timeSession(
  modelBytes: Uint8Array,
  spec: TimingSpec,
  untilNs: number,
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
  const loadsNs = await timeUntilStable(
    async () => {
      const beginNs = monotonicNs();
      const session = await create();
      const ns = monotonicNs() - beginNs;
      await session.release();
      return ns;
    },
    { least: LEAST_RUNS, untilNs: shareOf(untilNs, LOAD_SHARE) },
  );

  const session = await create();
  const sized = hasFreeSizes(signature)
    ? { ...spec, signature: await smallestSizes(session, signature) }
    : spec;
  const batches: BatchTiming[] = [];
  for (const [batchIndex, batchSize] of batchSizes.entries()) {
    onProgress((batchIndex + 1) / steps, `INFER at batch size ${batchSize}`);
    const step = { session, batchIndex, batchSize, spec: sized };
    const stepUntilNs = shareOf(untilNs, 1 / (batchSizes.length - batchIndex));
    const hot = summarize(await timeRuns(step, shareOf(stepUntilNs, HOT_SHARE)));
    const afterOtherMs = device.kind === 'cpu' ? await timeAfterOther(step, stepUntilNs) : null;
    batches.push(afterOtherMs === null ? hot : { ...hot, afterOtherMs });
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

/** The first run of a kind is often the longest. */
const LEAST_RUNS = 2;
/** Of the time for a model. */
const LOAD_SHARE = 0.15;
/** Of the time for a batch size; the rest is for runs with cold caches. */
const HOT_SHARE = 0.75;
/** More than the caches of a core hold. */
const SWEEP_BYTES = 64 * MIB;
const CACHE_LINE = 64;
const SWEPT_RUNS = 20;
/** Requests differ, and so do the places in memory where they lie. */
const INPUT_SETS = 4;

/** When a share of the time that is left is over. */
function shareOf(untilNs: number, share: number): number {
  const nowNs = monotonicNs();
  return nowNs + share * Math.max(0, untilNs - nowNs);
}

/** INFERs at one batch size. */
interface Step {
  readonly session: ModelSession;
  readonly batchIndex: number;
  readonly batchSize: number;
  readonly spec: TimingSpec;
}

async function timeRuns({ session, batchIndex, batchSize, spec }: Step, untilNs: number): Promise<number[]> {
  const { signature, runs } = spec;
  const random = stream(1, 'profile-inputs');
  const sets = Array.from({ length: INPUT_SETS }, () => randomInputs(signature, batchSize, random));
  let next = 0;
  const run = () => {
    const inputs = sets[next++ % INPUT_SETS];
    return timed(() => session.run(batchIndex, batchSize, inputs, shapesOf(signature)));
  };
  if (runs === null) return timeUntilStable(run, { least: LEAST_RUNS, untilNs });
  const durationsNs: number[] = [];
  while (durationsNs.length < runs) durationsNs.push(await run());
  return durationsNs;
}

/**
 * Two models that take turns find their weights in memory, not in caches: measured, MobileNetV2 takes 1.7 times as long.
 * Null: there is no time for it.
 */
async function timeAfterOther(
  { session, batchIndex, batchSize, spec: { signature, runs } }: Step,
  untilNs: number,
): Promise<number | null> {
  const inputs = randomInputs(signature, batchSize, stream(1, 'profile-inputs'));
  const sweep = new Uint8Array(SWEEP_BYTES);
  const durationsNs: number[] = [];
  const most = Math.min(SWEPT_RUNS, runs ?? SWEPT_RUNS);
  while (durationsNs.length < most && (runs !== null || monotonicNs() < untilNs)) {
    for (let at = 0; at < sweep.length; at += CACHE_LINE) sweep[at]++;
    durationsNs.push(await timed(() => session.run(batchIndex, batchSize, inputs, shapesOf(signature))));
  }
  return durationsNs.length === 0 ? null : summarize(durationsNs).medianMs;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beginNs = monotonicNs();
  await work();
  return monotonicNs() - beginNs;
}
