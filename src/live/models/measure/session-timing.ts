import { monotonicNs } from '../../../base/clock/clock.js';
import { EscapementError } from '../../../base/errors.js';
import { type Random, stream } from '../../../base/random/streams.js';
import { MIB, NS_PER_S } from '../../../base/units.js';
import type { OrtDeviceSpec } from '../../device.js';
import type { ModelSignature } from '../../model.js';
import { deviceMemory } from '../../ort/device-memory.js';
import { onnxruntime } from '../../ort/onnxruntime.js';
import type { OnProgress } from '../../ort/runtime-call.js';
import { InputError } from '../../ort/runtime-problem.js';
import { ModelSession } from '../../ort/session.js';
import type { Sample, SizedInputs } from './sample-inputs.js';
import { type Durations, summarize, timeUntilStable } from './until-stable.js';

export interface TimingSpec {
  readonly signature: ModelSignature;
  readonly batchSizes: readonly number[];
  readonly device: OrtDeviceSpec;
  /** Number of INFERs at each batch size; null: until their figures are stable or `budgetNs` is spent. */
  readonly runs: number | null;
  /** Values for inputs; others are chosen. */
  readonly samples?: readonly Sample[];
  /** Lengths to measure of a model whose inputs may have any; null: chosen. */
  readonly lengths?: readonly number[] | null;
  /** Time for the whole model. The minimum measurements may take longer. Default: 3 s. */
  readonly budgetNs?: number;
}

interface TimedSession extends TimingSpec {
  /** By length, ascending. */
  readonly inputs: readonly SizedInputs[];
}

export const MEASURE_BUDGET_NS = 3 * NS_PER_S;

export interface Timing {
  /** From weights in host memory to when the first INFER may start. */
  readonly load: Durations;
  /** Device memory in use after its INFERs, including onnxruntime's own; absent: unknown. */
  readonly loadedBytes?: number;
  /** Duration of the very first LOAD, which also sets up the device and compiles for it. */
  readonly firstLoadMs: number;
  /** One entry per batch size, for inputs of the longest length. */
  readonly batches: readonly BatchTiming[];
  /** The longest length; absent: inputs have one. */
  readonly length?: number;
  /** Timings of shorter lengths, ascending. */
  readonly shorter: readonly LengthTiming[];
}

interface LengthTiming {
  readonly length: number;
  readonly batches: readonly BatchTiming[];
}

interface BatchTiming extends Durations {
  /**
   * Median right after other memory filled the caches, as another model's weights do; absent: irrelevant for the
   * device, or no time left.
   */
  readonly afterOtherMs?: number;
}

/**
 * Times LOADs and INFERs of a model as an executor does: an INFER lasts from its inputs in host memory to its outputs
 * in host memory. `modelBytes` is the optimized model. Blocks this thread at times. `untilNs`: end of the budget; every
 * step gets its share of what is left. `onProgress` receives the share that is done and the next step.
 */
export async function timeSession(
  modelBytes: Uint8Array,
  spec: TimedSession,
  untilNs: number,
  onProgress: OnProgress,
  memoryOf: typeof deviceMemory = deviceMemory,
): Promise<Timing> {
  const { signature, batchSizes, device } = spec;
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

  // The device now holds everything that sessions share.
  const before = await memoryOf(device);
  const session = await create();
  const tables = await timeTables(session, spec, untilNs, onProgress);
  const after = await memoryOf(device);
  await session.release();
  const { batches, length } = tables[tables.length - 1];
  const shorter = { shorter: tables.slice(0, -1), ...(length > 0 && { length }) };
  const loaded =
    before === null || after === null ? {} : { loadedBytes: Math.max(0, after.usedBytes - before.usedBytes) };
  const firstLoadMs = summarize([firstNs]).medianMs;
  return { load: summarize(loadsNs), firstLoadMs, ...loaded, batches, ...shorter };
}

/** Times INFERs at each batch size, for each length of the model; those of the longest come last. */
async function timeTables(
  session: ModelSession,
  spec: TimedSession,
  untilNs: number,
  onProgress: OnProgress,
): Promise<LengthTiming[]> {
  const { batchSizes, device } = spec;
  const steps = batchSizes.length * spec.inputs.length;
  let done = 0;
  const tables: LengthTiming[] = [];
  for (const [bucket, inputs] of spec.inputs.entries()) {
    const { length, signature } = inputs;
    const batches: BatchTiming[] = [];
    for (const [batchIndex, batchSize] of batchSizes.entries()) {
      const at = length === 0 ? '' : `, length ${length}`;
      onProgress((done + 1) / (steps + 1), `INFER at batch size ${batchSize}${at}`);
      const shapes = signature.inputs.map(({ shape }) => shape);
      // With several lengths, a session takes the inputs of each request separately.
      const step: Step = {
        runs: spec.runs,
        draw: (random) =>
          length === 0
            ? inputs.draw(signature, batchSize, random)
            : Array.from({ length: batchSize }, () => inputs.draw(signature, 1, random)).flat(),
        run: (given) => timed(() => session.run(batchIndex, batchSize, given, shapes, false, bucket)),
      };
      const stepUntilNs = shareOf(untilNs, 1 / (steps - done));
      const runs = timeRuns(step, shareOf(stepUntilNs, HOT_SHARE));
      const hot = summarize(await runs.catch((error) => throwProblem(error, length)));
      const afterOtherMs = device.kind === 'cpu' ? await timeAfterOther(step, stepUntilNs) : null;
      batches.push(afterOtherMs === null ? hot : { ...hot, afterOtherMs });
      done++;
    }
    tables.push({ length, batches });
  }
  return tables;
}

/** Rethrows an error, with the length at which the model fails if it takes several. */
function throwProblem(error: unknown, length: number): never {
  if (length === 0 || !(error instanceof InputError)) throw error;
  throw new EscapementError(
    'E_MODEL_FILE',
    `fails at length ${length}, which "buckets" in its config.yaml lists: ${error.message}`,
  );
}

/** Minimum number of runs, since the first of a kind is often the longest. */
const LEAST_RUNS = 2;
/** Part of a model's time for LOADs. */
const LOAD_SHARE = 0.15;
/** Part of a batch size's time; the rest is for runs with cold caches. */
const HOT_SHARE = 0.75;
/** More than the caches of a core hold. */
const SWEEP_BYTES = 64 * MIB;
const CACHE_LINE = 64;
const SWEPT_RUNS = 20;
/** Number of input sets: requests differ, and so do their addresses in memory. */
const INPUT_SETS = 4;

/** Time at which a share of the remaining time is over. */
function shareOf(untilNs: number, share: number): number {
  const nowNs = monotonicNs();
  return nowNs + share * Math.max(0, untilNs - nowNs);
}

/** INFERs at one batch size and length. */
interface Step {
  /** Number of INFERs; null: until their figures are stable or the time is up. */
  readonly runs: number | null;
  /** Draws the inputs of an INFER. */
  readonly draw: (random: Random) => Uint8Array[];
  /** Runs an INFER. Returns its duration. */
  readonly run: (inputs: Uint8Array[]) => Promise<number>;
}

async function timeRuns({ runs, draw, run: infer }: Step, untilNs: number): Promise<number[]> {
  const random = stream(1, 'profile-inputs');
  const sets = Array.from({ length: INPUT_SETS }, () => draw(random));
  let next = 0;
  const run = () => infer(sets[next++ % INPUT_SETS]);
  if (runs === null) return timeUntilStable(run, { least: LEAST_RUNS, untilNs });
  const durationsNs: number[] = [];
  while (durationsNs.length < runs) durationsNs.push(await run());
  return durationsNs;
}

/**
 * Two models that alternate find their weights in memory, not in caches: measured, MobileNetV2 takes 1.7 times as long.
 * Null: there is no time for it.
 */
async function timeAfterOther({ runs, draw, run }: Step, untilNs: number): Promise<number | null> {
  const inputs = draw(stream(1, 'profile-inputs'));
  const sweep = new Uint8Array(SWEEP_BYTES);
  const durationsNs: number[] = [];
  const most = Math.min(SWEPT_RUNS, runs ?? SWEPT_RUNS);
  while (durationsNs.length < most && (runs !== null || monotonicNs() < untilNs)) {
    for (let at = 0; at < sweep.length; at += CACHE_LINE) sweep[at]++;
    durationsNs.push(await run(inputs));
  }
  return durationsNs.length === 0 ? null : summarize(durationsNs).medianMs;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beginNs = monotonicNs();
  await work();
  return monotonicNs() - beginNs;
}
