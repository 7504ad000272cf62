import { readFileSync } from 'node:fs';
import { monotonicNs } from '../../../base/clock/clock.js';
import { stream } from '../../../base/random/streams.js';
import { NS_PER_S } from '../../../base/units.js';
import type { OnProgress } from '../../ort/runtime-call.js';
import { ModelSession } from '../../ort/session.js';
import type { CompareTask, PrecisionComparison, PrecisionTiming } from './compare-precision.js';
import { summarize } from './durations.js';
import { DifferenceCollector, type OutputDifference } from './output-difference.js';
import { randomInputs } from './random-inputs.js';

/** Sessions of the same model at both precisions. */
interface Sessions {
  readonly fp32: ModelSession;
  readonly fp16: ModelSession;
}

/** Body of `comparePrecision` in its process, whose main thread this blocks. */
export async function compareSessions(
  task: CompareTask,
  onProgress: OnProgress,
): Promise<PrecisionComparison> {
  const { name, ortPaths, batchSizes } = task;
  onProgress(0, 'LOAD');
  const fp32 = await open(task, ortPaths.fp32);
  const fp16 = await open(task, ortPaths.fp16);
  const sessions = { fp32, fp16 };
  const steps = batchSizes.length + 1;
  onProgress(0, 'outputs');
  const difference = await compareOutputs(sessions, task);
  const batches: PrecisionTiming[] = [];
  for (const [batchIndex, batch] of batchSizes.entries()) {
    onProgress((batchIndex + 1) / steps, `INFER at batch size ${batch}`);
    batches.push(await timeByTurns(sessions, batchIndex, task));
  }
  const weightsBytes = { fp32: fp32.modelBytes.length, fp16: fp16.modelBytes.length };
  await fp32.release();
  await fp16.release();
  return { name, weightsBytes, difference, batches };
}

function open({ signature, batchSizes, device }: CompareTask, ortPath: string): Promise<ModelSession> {
  return ModelSession.create(new Uint8Array(readFileSync(ortPath)), signature, batchSizes, device);
}

async function compareOutputs(
  { fp32, fp16 }: Sessions,
  { signature, batchSizes, requests, seed }: CompareTask,
): Promise<OutputDifference> {
  const collector = new DifferenceCollector(signature.outputs);
  const random = stream(seed, 'compared-inputs');
  for (const [batchIndex, batch] of batchSizes.entries()) {
    for (let done = 0; done < requests; done += batch) {
      const inputs = randomInputs(signature, batch, random);
      const full = await fp32.run(batchIndex, batch, inputs);
      const lower = await fp16.run(batchIndex, batch, inputs);
      collector.add(batch, full.outputs, lower.outputs);
    }
  }
  return collector.difference;
}

const RUNS_MIN = 30;
const MOST_RUNS = 10_000;
/** For each precision. */
const RUNS_NS = 2 * NS_PER_S;
/** INFERs per turn, after one that is not counted, which still finds the other precision's weights in the caches. */
const RUNS_A_TURN = 5;

async function timeByTurns(
  { fp32, fp16 }: Sessions,
  batchIndex: number,
  { signature, batchSizes, runs, seed }: CompareTask,
): Promise<PrecisionTiming> {
  const batch = batchSizes[batchIndex];
  const inputs = randomInputs(signature, batch, stream(seed, 'timed-inputs'));
  const least = runs ?? RUNS_MIN;
  const most = runs ?? MOST_RUNS;
  const takeTurn = async (session: ModelSession, durationsNs: number[]) => {
    await session.run(batchIndex, batch, inputs);
    for (let run = 0; run < RUNS_A_TURN && durationsNs.length < most; run++) {
      const beginNs = monotonicNs();
      await session.run(batchIndex, batch, inputs);
      durationsNs.push(monotonicNs() - beginNs);
    }
  };
  const turns = [
    { session: fp32, durationsNs: [] as number[] },
    { session: fp16, durationsNs: [] as number[] },
  ];
  const [{ durationsNs: fullNs }, { durationsNs: lowerNs }] = turns;
  const endNs = monotonicNs() + turns.length * RUNS_NS;
  while (fullNs.length < least || (fullNs.length < most && monotonicNs() < endNs)) {
    for (const { session, durationsNs } of turns) await takeTurn(session, durationsNs);
    // The order alternates, too.
    turns.reverse();
  }
  const full = summarize(fullNs);
  const lower = summarize(lowerNs);
  return { batch, fp32: full, fp16: lower, speedUp: full.medianMs / lower.medianMs };
}
