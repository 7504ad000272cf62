import { monotonicNs } from '../../../base/clock/clock.js';
import { EscapementError } from '../../../base/errors.js';
import { type Random, stream } from '../../../base/random/streams.js';
import { MIB } from '../../../base/units.js';
import {
  bytesOfShape,
  DATATYPES,
  FREE,
  hasFreeSizes,
  type ModelSignature,
  type Shape,
  type TensorSignature,
  tensorOf,
  withSizes,
} from '../../model.js';
import { InputError } from '../../ort/runtime-problem.js';
import type { ModelSession } from '../../ort/session.js';
import { bytesOfTexts } from '../../texts.js';

/** Values of one input of a request; what is absent is chosen. */
interface SampleValues {
  readonly shape?: Shape;
  readonly bytes?: Uint8Array;
  /** To draw from, in place of `bytes`. */
  readonly range?: readonly [least: number, most: number];
}

/** Values for measuring a model, by input; others are chosen. */
export type Sample = Readonly<Record<string, SampleValues>>;

/** Inputs that a model computes. */
interface FoundInputs {
  /** The model with the sizes that were found. */
  readonly signature: ModelSignature;
  /** True if its outputs have other sizes than the model declares. */
  readonly freeOutputs: boolean;
  readonly draw: DrawInputs;
}

/** Draws the inputs of `count` requests to a model with these sizes. */
type DrawInputs = (signature: ModelSignature, count: number, random: Random) => Uint8Array[];

/**
 * Finds inputs that a model computes: those of `samples`, and else small numbers in turn, with the smallest sizes that it
 * takes. Times of others are learned from requests. Sizes of outputs may follow from values, as those of TopK do, so
 * short inputs get others, too. `session` takes inputs of any size, one request at a time. Throws the model's first
 * reason if it computes nothing.
 */
export async function findInputs(
  session: ModelSession,
  signature: ModelSignature,
  samples: readonly Sample[] = [],
): Promise<FoundInputs> {
  const sizes = hasFreeSizes(signature) ? SIZES : SIZES.slice(0, 1);
  const search = new InputSearch(session, samples);
  for (const mostTries of [1, MOST_TRIES / sizes.length]) {
    for (const size of sizes) {
      const sized = sampled(withSizes(signature, size), samples);
      const choice = await search.find(sized, mostTries);
      if (choice === null) continue;
      const freeOutputs = !signature.batched && (await search.varies(sized, choice, signature));
      return { signature: sized, freeOutputs, draw: drawer(choice, samples) };
    }
  }
  const { problem } = search;
  if (problem instanceof InputError)
    throw new EscapementError(
      'E_MODEL_FILE',
      `${problem.message}. Give inputs that it takes as "samples" in its config.yaml`,
    );
  throw problem;
}

/** Inputs of one size for measuring. */
export interface SizedInputs extends Pick<FoundInputs, 'signature' | 'draw'> {
  /** 0: all inputs have one length. */
  readonly length: number;
}

/**
 * Finds inputs of one row for each length that a model computes: those of `lengths`, or powers of two as long as
 * measuring them ends by `untilNs`, and at least two. `session` as for `findInputs`; `batchSizes`: those to measure.
 */
export async function findRows(
  session: ModelSession,
  signature: ModelSignature,
  {
    lengths = null,
    samples = [],
    batchSizes,
  }: {
    readonly lengths?: readonly number[] | null;
    readonly samples?: readonly Sample[];
    readonly batchSizes: readonly number[];
  },
  untilNs: number,
): Promise<SizedInputs[]> {
  const found: SizedInputs[] = [];
  const search = new InputSearch(session, samples);
  const runs = RUNS_EACH * batchSizes.reduce((sum, size) => sum + size, 0);
  let neededNs = 0;
  for (const length of lengths ?? Array.from({ length: MOST_DOUBLINGS }, (_, i) => 2 ** i)) {
    const sized = rowAt(signature, length);
    const bytes = sized.inputs.reduce((sum, input) => sum + input.bytes, 0);
    if (lengths === null && bytes > MOST_ROW_BYTES && found.length > 0) break;
    const choice = await search.find(sized, MOST_ROW_TRIES);
    if (choice === null) {
      if (lengths !== null) throw search.problem;
      if (found.length > 0) break;
      continue;
    }
    const beginNs = monotonicNs();
    await search.shapesOf(sized, choice, stream(1, 'profile-inputs'));
    neededNs += runs * (monotonicNs() - beginNs);
    if (lengths === null && found.length >= LEAST_LENGTHS && monotonicNs() + neededNs > untilNs) break;
    found.push({ length, signature: sized, draw: drawer(choice, samples) });
  }
  return found;
}

/** Returns a model with free sizes as it is for one row of a length. */
function rowAt(signature: ModelSignature, length: number): ModelSignature {
  const close = (tensor: TensorSignature) => {
    const shape = tensor.shape.map((size, d) => (size !== FREE ? size : d === 0 ? 1 : length));
    return { ...tensor, shape, bytes: bytesOfShape(tensor.datatype, shape) };
  };
  return { inputs: signature.inputs.map(close), outputs: signature.outputs.map(close), batched: false };
}

/** Draws the inputs that are tried first. */
export function usualInputs(samples: readonly Sample[] = []): DrawInputs {
  return drawer([], samples);
}

/** Sizes tried if requests choose them. */
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const MOST_TRIES = 4000;
/** Limits for inputs of several lengths, and number of runs of each batch size. */
const MOST_ROW_TRIES = 100;
const MOST_DOUBLINGS = 15;
const MOST_ROW_BYTES = MIB;
const LEAST_LENGTHS = 2;
const RUNS_EACH = 3;
/** Draws that a model has to compute to accept a choice of values. */
const DRAWS = 2;
/** Most elements of an input that may be sizes, axes or thresholds. */
const FEW_ELEMENTS = 8;

/** Value of an element by its position among those of one request. */
type Values = (at: number, random: Random) => number;

const between =
  (least: number, most: number): Values =>
  (_, random) =>
    least + random() * (most - least);
const whole =
  (least: number, most: number): Values =>
  (_, random) =>
    least + Math.floor(random() * (most - least + 1));
const always =
  (value: number): Values =>
  () =>
    value;

/** By input: which of its `valuesFor`. */
type Choice = readonly number[];

/**
 * Values to try for an input, in order. Zeros could be faster than other numbers, and integers may be indices into a
 * table; but short inputs are more likely thresholds, steps or sizes, which are positive.
 */
function valuesFor({ datatype, bytes }: TensorSignature, { inputs, outputs }: ModelSignature): Values[] {
  const elements = bytes / DATATYPES[datatype].bytes;
  const isShort = elements <= FEW_ELEMENTS;
  if (datatype === 'BOOL' || datatype === 'BYTES') return [always(0), always(1)];
  if (datatype.startsWith('FP'))
    return isShort ? [between(0, 1), always(1), between(-1, 1)] : [between(-1, 1), between(0, 1), always(1)];
  if (!isShort) return [always(0), always(1), whole(1, 9)];
  const shapes = [...outputs, ...inputs].map(({ shape }) => shape).filter(({ length }) => length >= elements);
  const ofShapes = shapes.map(
    (shape): Values =>
      (at) =>
        shape[at + shape.length - elements],
  );
  return [always(1), always(0), always(2), (at) => at, (at) => at + 1, ...ofShapes];
}

class InputSearch {
  problem: unknown = null;

  constructor(
    private readonly session: ModelSession,
    private readonly samples: readonly Sample[],
  ) {}

  /** Null: the model computes none of those tried. */
  async find(sized: ModelSignature, mostTries: number): Promise<Choice | null> {
    let tries = 0;
    for (const choice of choicesOf(this.countsFor(sized))) {
      if (tries++ >= mostTries) return null;
      const random = stream(1, 'profile-inputs');
      let draws = 0;
      while (draws < DRAWS && (await this.shapesOf(sized, choice, random)) !== null) draws++;
      if (draws === DRAWS) return choice;
    }
    return null;
  }

  /** True if outputs that `declared` gives sizes have others, for any values of short inputs. */
  async varies(sized: ModelSignature, found: Choice, { outputs }: ModelSignature): Promise<boolean> {
    const declared = outputs.map(({ shape }) => shape.join());
    const choices = this.countsFor(sized).flatMap((count, i) => {
      const { datatype, bytes } = sized.inputs[i];
      const others = bytes / DATATYPES[datatype].bytes > FEW_ELEMENTS ? 0 : count;
      return Array.from({ length: others }, (_, value) => found.with(i, value));
    });
    for (const choice of [found, ...choices]) {
      const shapes = await this.shapesOf(sized, choice, stream(1, 'profile-inputs'));
      if (shapes?.some((shape, o) => !outputs[o].shape.includes(-1) && shape.join() !== declared[o]))
        return true;
    }
    return false;
  }

  /** Number of values to try for each input. */
  private countsFor(sized: ModelSignature): number[] {
    return sized.inputs.map((input) => {
      const { bytes, range } = this.samples[0]?.[input.name] ?? {};
      return bytes === undefined && range === undefined ? valuesFor(input, sized).length : 1;
    });
  }

  /** Shapes of the outputs; null: the model does not compute such inputs. */
  async shapesOf(sized: ModelSignature, choice: Choice, random: Random): Promise<readonly Shape[] | null> {
    const inputs = drawer(choice, this.samples)(sized, 1, random);
    const shapes = sized.inputs.map(({ shape }) => (sized.batched ? [1, ...shape] : shape));
    try {
      return (await this.session.run(0, 1, inputs, shapes)).shapes ?? [];
    } catch (error) {
      this.problem ??= error;
      return null;
    }
  }
}

/** All choices, those with the most usual values first. */
function* choicesOf(counts: readonly number[]): Generator<Choice> {
  const most = counts.reduce((sum, count) => sum + count - 1, 0);
  for (let sum = 0; sum <= most; sum++) yield* choicesWithSum(counts, sum);
}

function* choicesWithSum([count, ...others]: readonly number[], sum: number): Generator<Choice> {
  if (count === undefined) {
    if (sum === 0) yield [];
    return;
  }
  const rest = others.reduce((all, each) => all + each - 1, 0);
  for (let value = Math.max(0, sum - rest); value <= Math.min(sum, count - 1); value++)
    for (const tail of choicesWithSum(others, sum - value)) yield [value, ...tail];
}

/** Returns the model with the sizes of a sample's tensors. */
function sampled(signature: ModelSignature, [sample = {}]: readonly Sample[]): ModelSignature {
  if (signature.batched) return signature;
  const inputs = signature.inputs.map((input) => {
    const { shape = input.shape } = sample[input.name] ?? {};
    return { ...input, shape, bytes: bytesOfShape(input.datatype, shape) };
  });
  return { ...signature, inputs };
}

function drawer(choice: Choice, samples: readonly Sample[]): DrawInputs {
  return (signature, count, random) =>
    signature.inputs.map((input, i) => {
      const all = Array.from({ length: count }, (_, r) => {
        const given = samples.length === 0 ? undefined : samples[r % samples.length][input.name];
        return (
          drawnFrom(input, given, random) ?? drawn(input, valuesFor(input, signature)[choice[i] ?? 0], random)
        );
      });
      return count === 1 ? all[0] : new Uint8Array(Buffer.concat(all));
    });
}

/** One request's tensor with given values; null: none are given, or of other sizes. */
export function drawnFrom(
  input: TensorSignature,
  given: SampleValues | undefined,
  random: Random,
): Uint8Array | null {
  if (given?.range !== undefined) {
    const [least, most] = given.range;
    return drawn(input, input.datatype.startsWith('FP') ? between(least, most) : whole(least, most), random);
  }
  const isFit = given?.bytes?.length === input.bytes || input.datatype === 'BYTES';
  return isFit ? (given?.bytes ?? null) : null;
}

/** Texts hold numbers, since a model may parse them. */
function drawn({ datatype, bytes }: TensorSignature, values: Values, random: Random): Uint8Array {
  if (datatype !== 'BYTES') return tensorOf(datatype, bytes, (at) => values(at, random));
  const texts = Array.from({ length: bytes / DATATYPES.BYTES.bytes }, (_, at) => String(values(at, random)));
  return bytesOfTexts(texts);
}
