import { monotonicNs } from '../../../base/clock/clock.js';
import { EscapementError } from '../../../base/errors.js';
import { type Random, stream } from '../../../base/random/streams.js';
import type { OrtDeviceSpec } from '../../device.js';
import {
  type Datatype,
  type ModelSignature,
  type Shape,
  tensorOf,
  unbatched,
  withSizes,
} from '../../model.js';
import { ModelSession, type SessionRun } from '../../ort/session.js';
import type { Precision } from '../precision.js';
import { checkPadding, type PaddingCheck } from './check-padding.js';
import { Comparer, shortNumber } from './comparer.js';
import { drawnFrom, type Sample } from './sample-inputs.js';

export interface BatchingSpec {
  /** Signature of a model whose first dimension may be a batch. */
  readonly signature: ModelSignature;
  readonly batchSizes: readonly number[];
  readonly device: OrtDeviceSpec;
  readonly precision: Precision;
  /** Values for inputs; others are chosen. */
  readonly samples?: readonly Sample[];
  /** True if the model is batched regardless of the result. */
  readonly isIgnored?: boolean;
  /** Monotonic time from which only the minimum needed for the result is compared; absent: everything is. */
  readonly untilNs?: number;
}

/** Result of checking that a model's first dimension is a batch of independent rows. */
export interface BatchingCheck {
  readonly independent: boolean;
  /** Batch sizes checked. */
  readonly batchSizes: readonly number[];
  /** Output with the largest difference relative to its largest value; absent: nothing to compare. */
  readonly output?: string;
  /** That difference. Absent if infinite. */
  readonly difference?: number;
  /** Description for people, on one line. */
  readonly what: string;
  /** Check of padded inputs; absent: nothing is padded. */
  readonly padding?: PaddingCheck;
}

/**
 * Compares the rows of batches with the same rows alone: distinct random rows, at every batch size, with the batch full
 * and padded with zeros. Integers and booleans must be equal, others may differ by a share of the output's largest
 * value, see `toleranceOf`: libraries add up in a different order at each batch size. Of several lengths the shortest
 * is checked, and then whether padding changes answers. `modelBytes` is the optimized model. Throws `E_DEVICE`, and
 * `E_MODEL_FILE` if the model cannot be loaded, or padding changes answers and that is not ignored.
 */
export async function checkBatching(modelBytes: Uint8Array, spec: BatchingSpec): Promise<BatchingCheck> {
  const { lengths } = spec.signature;
  const signature = lengths === undefined ? spec.signature : withSizes(spec.signature, lengths.buckets[0]);
  const session = await ModelSession.create(modelBytes, unbatched(signature), [1], spec.device);
  try {
    const rows = await new Checker(session, { ...spec, signature }).check();
    // Dependent rows run alone, as they are.
    if (!rows.independent && !spec.isIgnored) return rows;
    const padding = await checkPadding(session, { ...spec, isLate: () => isLate(spec) });
    if (padding === null) return rows;
    if (!padding.same && !spec.isIgnored) throw new EscapementError('E_MODEL_FILE', paddingProblem(padding));
    return { ...rows, padding };
  } finally {
    await session.release();
  }
}

function isLate({ untilNs = Number.POSITIVE_INFINITY }: BatchingSpec): boolean {
  return monotonicNs() > untilNs;
}

function paddingProblem({ what }: PaddingCheck): string {
  return `gives other answers to inputs that are padded as "fill" in its config.yaml says: ${what}. Correct it, leave "fill" out to batch inputs of equal length only, or write "batch: rows" to pad them anyway`;
}

/** Tried in order; those that the model rejects are skipped. */
const WHOLE_RANGES: readonly WholeRange[] = [
  [0, 1],
  [0, 9],
  [1, 9],
  [-100, 100],
];

/** Minimum number of rows run alone, however long they take. */
const LEAST_ROWS = 3;

/** Ends the check: the rows depend on each other, or cannot be checked. */
class Mixed extends Error {}

class Checker {
  private readonly sizes: readonly number[];
  private readonly comparer: Comparer;

  constructor(
    private readonly session: ModelSession,
    private readonly spec: BatchingSpec,
  ) {
    // Requests of several rows are split even if nothing is batched, so at least two rows are compared.
    const batches = spec.batchSizes.filter((size) => size > 1);
    this.sizes = batches.length === 0 ? [2] : batches;
    this.comparer = new Comparer(spec);
  }

  async check(): Promise<BatchingCheck> {
    const { signature } = this.spec;
    const random = stream(1, 'batching-rows');
    const ranges = hasWholeNumbers(signature) ? WHOLE_RANGES : WHOLE_RANGES.slice(0, 1);
    try {
      let refused = '';
      let taken = 0;
      for (const range of ranges) {
        if (taken > 0 && this.isLate()) break;
        const why = await this.checkRange(range, random);
        refused ||= why;
        if (why === '') taken++;
      }
      if (taken === 0) throw new Mixed(`it does not accept a single row: ${refused}`);
    } catch (error) {
      if (error instanceof Mixed) return this.result(false, error.message);
      throw error;
    }
    return this.result(true, `rows of a batch give the same answers as alone, ${this.worstText()}`);
  }

  /** Reason why the model does not take integers in this range; '' if it does. */
  private async checkRange(range: WholeRange, random: Random): Promise<string> {
    const { signature, samples } = this.spec;
    const rows = distinctRows(signature, Math.max(...this.sizes), range, random, samples);
    const alone: SessionRun[] = [];
    for (const [r, row] of rows.entries()) {
      if (r >= LEAST_ROWS && this.isLate()) break;
      const run = await this.run([row], 1).catch((error) => this.reason(error));
      if (typeof run === 'string') return run;
      alone.push(run);
    }
    this.checkShapes(alone, 1);
    this.comparer.scales = signature.outputs.map(() => 0);
    for (const { outputs } of alone) this.comparer.expect(outputs);
    this.compare(await this.run([rows[0]], 1), alone.slice(0, 1), 'the same row again');
    for (const size of this.sizes) {
      // Rows next to other rows and next to padding, and each of them alone if there is time.
      for (const count of this.isLate() ? [size - 1] : new Set([size, size - 1, 1])) {
        const where = `${count} ${count === 1 ? 'row' : 'rows'} in a batch of ${size}`;
        const run = await this.run(rows.slice(0, count), size).catch((error) => this.reason(error));
        if (typeof run === 'string') throw new Mixed(`it fails with a batch of ${size}: ${run}`);
        this.checkShapes([run], size);
        this.compare(run, alone.slice(0, count), where);
      }
    }
    return '';
  }

  private isLate(): boolean {
    return isLate(this.spec);
  }

  /** Runs these rows, padded with zeros to `size`. */
  private run(rows: readonly (readonly Uint8Array[])[], size: number): Promise<SessionRun> {
    const { inputs } = this.spec.signature;
    const gathered = inputs.map(({ bytes }, i) => {
      const all = new Uint8Array(size * bytes);
      for (const [r, row] of rows.entries()) all.set(row[i], r * bytes);
      return all;
    });
    return this.session.run(
      0,
      1,
      gathered,
      inputs.map(({ shape }) => [size, ...shape]),
    );
  }

  private reason(error: unknown): string {
    return error instanceof Error ? error.message : String(error);
  }

  private checkShapes(runs: readonly SessionRun[], size: number): void {
    for (const { shapes = [] } of runs) {
      for (const [o, { name, shape }] of this.spec.signature.outputs.entries()) {
        const expected: Shape = [size, ...shape];
        if (shapes[o].join() === expected.join()) continue;
        const rows = size === 1 ? 'one row' : `${size} rows`;
        throw new Mixed(`output ${name} is [${shapes[o]}] for ${rows}, not [${expected}]`);
      }
    }
  }

  /** Compares the first rows of `run` with `alone`. */
  private compare(run: SessionRun, alone: readonly SessionRun[], where: string): void {
    const { outputs } = this.spec.signature;
    for (const [r, one] of alone.entries()) {
      const row = outputs.map(({ bytes }, o) => run.outputs[o].subarray(r * bytes, (r + 1) * bytes));
      const found = this.comparer.compare(one.outputs, row);
      if (found === null) continue;
      const { output, difference, scale } = found;
      const alonePart = `the values of single requests go up to ${scale}`;
      throw new Mixed(`output ${output} differs by ${shortNumber(difference)} with ${where}; ${alonePart}`);
    }
  }

  private worstText(): string {
    const { output = '', difference = 0 } = this.comparer.worst ?? {};
    return difference === 0 ? 'bit for bit' : `but for ${shortNumber(difference)} in output ${output}`;
  }

  private result(independent: boolean, what: string): BatchingCheck {
    const { worst } = this.comparer;
    return {
      independent,
      batchSizes: this.sizes,
      ...(worst === null ? {} : { output: worst.output }),
      ...(worst === null || !Number.isFinite(worst.difference) ? {} : { difference: worst.difference }),
      what,
    };
  }
}

/** Range of integer inputs. Some are indices into a table that has only small ones. */
type WholeRange = readonly [least: number, most: number];

/** Rows of different magnitudes, so that anything computed over all of them differs from the value for one. */
const SCALES = [1, 0.25, 4, 0.5];

/**
 * `count` requests that differ in every input, each as its inputs in the order of the signature. Booleans and integers
 * differ at least between neighbours.
 */
function distinctRows(
  { inputs }: ModelSignature,
  count: number,
  range: WholeRange,
  random: Random,
  samples: readonly Sample[] = [],
): Uint8Array[][] {
  return Array.from({ length: count }, (_, row) =>
    inputs.map((input) => {
      const given = samples.length === 0 ? undefined : samples[row % samples.length][input.name];
      return drawnFrom(input, given, random) ?? drawn(input.datatype, input.bytes, row, range, random);
    }),
  );
}

/** True if some inputs are integers. */
function hasWholeNumbers({ inputs }: ModelSignature): boolean {
  return inputs.some(({ datatype }) => datatype !== 'BOOL' && !datatype.startsWith('FP'));
}

function drawn(
  datatype: Datatype,
  bytes: number,
  row: number,
  range: WholeRange,
  random: Random,
): Uint8Array<ArrayBuffer> {
  const real = () => (2 * random() - 1) * SCALES[row % SCALES.length];
  const [least, most] =
    datatype === 'BOOL' ? [0, 1] : datatype.startsWith('U') ? [Math.max(0, range[0]), range[1]] : range;
  const whole = (at: number) =>
    at === 0 ? least + (row % (most - least + 1)) : least + Math.floor(random() * (most - least + 1));
  return tensorOf(datatype, bytes, datatype.startsWith('FP') ? real : whole);
}
