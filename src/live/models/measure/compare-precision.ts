import { readFileSync } from 'node:fs';
import { EscapementError } from '../../../base/errors.js';
import { stream } from '../../../base/random/streams.js';
import type { OrtDeviceSpec } from '../../device.js';
import { atLongest } from '../../lengths.js';
import type { ModelSignature, TensorSignature } from '../../model.js';
import { callRuntime } from '../../ort/runtime-call.js';
import { ModelSession } from '../../ort/session.js';
import { optimizeModel } from '../optimize.js';
import type { Precision } from '../precision.js';
import type { RepositoryModel } from '../repository.js';
import { numbersOf } from './comparer.js';
import { randomInputs } from './random-inputs.js';

/** Requests whose outputs are compared. */
const REQUESTS = 32;

/** Difference of a model's outputs at FP16 from those at FP32, over many requests. */
interface OutputDifference {
  readonly requests: number;
  /** Number of values in the outputs of all requests. */
  readonly values: number;
  /** Over values that are finite at both precisions. */
  readonly maxAbsolute: number;
  /** Largest absolute value at FP32, as a reference for differences. */
  readonly largestOutput: number;
  /** Number of values that are finite at FP32 only: FP16 overflowed. */
  readonly overflowed: number;
  /** Share of requests whose outputs have their maximum at the same position: classifiers give the same answer. */
  readonly sameLargest: number;
}

/** Task of the runtime's process: optimized models by precision. */
interface CompareTask {
  readonly ortPaths: Readonly<Record<Precision, string>>;
  readonly signature: ModelSignature;
  readonly device: OrtDeviceSpec;
}

/**
 * Runs both files of a model on a device with the same random inputs, in a process of its own, and compares their outputs.
 * Rejects with `E_MODEL_FILE` if the files are not of one model or fail on the device, and with `E_DEVICE` if it is
 * missing.
 */
export async function comparePrecision(
  { fp32, fp16 }: Readonly<Record<Precision, RepositoryModel>>,
  device: OrtDeviceSpec,
): Promise<OutputDifference> {
  if (JSON.stringify(fp32.signature) !== JSON.stringify(fp16.signature)) {
    throw new EscapementError('E_MODEL_FILE', `takes or gives other tensors than ${fp32.onnxPath}`, {
      file: fp16.onnxPath,
    });
  }
  const ortPathOf = async ({ onnxPath }: RepositoryModel) =>
    (await optimizeModel(onnxPath, device.kind)).ortPath;
  const ortPaths = { fp32: await ortPathOf(fp32), fp16: await ortPathOf(fp16) };
  const task: CompareTask = { ortPaths, signature: atLongest(fp32.signature), device };
  return callRuntime('compare', task);
}

/** Body of `comparePrecision` in its process, whose main thread this blocks. */
export async function compareSessions({
  ortPaths,
  signature,
  device,
}: CompareTask): Promise<OutputDifference> {
  const open = (path: string) =>
    ModelSession.create(new Uint8Array(readFileSync(path)), signature, [1], device);
  const [fp32, fp16] = [await open(ortPaths.fp32), await open(ortPaths.fp16)];
  const random = stream(1, 'compared-inputs');
  const collector = new DifferenceCollector(signature.outputs);
  for (let request = 0; request < REQUESTS; request++) {
    const inputs = randomInputs(signature, 1, random);
    collector.add((await fp32.run(0, 1, inputs)).outputs, (await fp16.run(0, 1, inputs)).outputs);
  }
  await fp32.release();
  await fp16.release();
  return collector.difference;
}

/** Compares outputs request by request. */
export class DifferenceCollector {
  private requests = 0;
  private values = 0;
  private max = 0;
  private largest = 0;
  private overflowed = 0;
  private same = 0;

  /** `signatures`: those of the model's outputs. */
  constructor(private readonly signatures: readonly TensorSignature[]) {}

  /** Outputs of one request at both precisions. */
  add(full: readonly Uint8Array[], lower: readonly Uint8Array[]): void {
    const same = this.signatures.map(({ datatype }, i) =>
      this.compare(numbersOf(full[i], datatype), numbersOf(lower[i], datatype)),
    );
    this.requests++;
    if (same.every((each) => each)) this.same++;
  }

  get difference(): OutputDifference {
    const { requests, values, max, largest, overflowed, same } = this;
    const sameLargest = requests === 0 ? 1 : same / requests;
    return { requests, values, maxAbsolute: max, largestOutput: largest, overflowed, sameLargest };
  }

  /** True if both have their largest value at the same position. */
  private compare(full: Float64Array, lower: Float64Array): boolean {
    this.values += full.length;
    for (let i = 0; i < full.length; i++) {
      if (!Number.isFinite(full[i])) continue;
      this.largest = Math.max(this.largest, Math.abs(full[i]));
      if (Number.isFinite(lower[i])) this.max = Math.max(this.max, Math.abs(full[i] - lower[i]));
      else this.overflowed++;
    }
    return indexOfLargest(full) === indexOfLargest(lower);
  }
}

/** Ties go to the first. */
function indexOfLargest(values: Float64Array): number {
  let largest = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[largest]) largest = i;
  return largest;
}
