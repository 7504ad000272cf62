import { type Random, stream } from '../../../base/random/streams.js';
import type { OrtDeviceSpec } from '../../device.js';
import {
  type InputLengths,
  type ModelSignature,
  type TensorSignature,
  tensorOf,
  withSizes,
} from '../../model.js';
import { atOtherLength } from '../../ort/padded-batches.js';
import { InputError } from '../../ort/runtime-problem.js';
import type { ModelSession } from '../../ort/session.js';
import type { Precision } from '../precision.js';
import { Comparer, shortNumber } from './comparer.js';

interface PaddingSpec {
  /** Signature of a model that takes inputs of several lengths. */
  readonly signature: ModelSignature;
  readonly device: OrtDeviceSpec;
  readonly precision: Precision;
  /** True from the time when only the minimum needed for the result is compared. */
  isLate(): boolean;
}

/** Result of checking that padding does not change a model's answers. */
export interface PaddingCheck {
  readonly same: boolean;
  /** Result for people, on one line. */
  readonly what: string;
}

/**
 * Compares answers to inputs padded to each length, as given by `fill`, with those to the same inputs unpadded. They
 * may differ as much as rows of a batch may. `session` takes inputs of any size, one request at a time. Null: nothing
 * is ever padded. Throws `E_MODEL_FILE` if the model fails.
 */
export async function checkPadding(session: ModelSession, spec: PaddingSpec): Promise<PaddingCheck | null> {
  const { lengths } = spec.signature;
  return lengths === undefined ? null : new Checker(session, spec, lengths).check();
}

type Fill = readonly (number | null)[];

/** Inputs of one length, and their answers without padding. */
interface Content {
  readonly length: number;
  readonly inputs: readonly Uint8Array[];
  readonly answers: readonly Uint8Array[];
}

class Checker {
  private readonly random: Random = stream(1, 'padding-rows');
  private readonly comparer: Comparer;
  /** Lengths, and their padded lengths. */
  private readonly pairs: readonly { readonly own: number; readonly bucket: number }[];

  constructor(
    private readonly session: ModelSession,
    private readonly spec: PaddingSpec,
    private readonly lengths: InputLengths,
  ) {
    this.comparer = new Comparer(spec);
    this.pairs = lengths.buckets.flatMap((bucket, b, buckets) => {
      // The previous bucket is a length that the model certainly takes, and almost the shortest padded to this one.
      const own = b === 0 ? Math.ceil(bucket / 2) : buckets[b - 1];
      return own === bucket ? [] : [{ own, bucket }];
    });
  }

  async check(): Promise<PaddingCheck | null> {
    const { inputs } = this.spec.signature;
    if (this.pairs.length === 0) return null;
    // For the magnitude of outputs: if all were zero, nothing would be tolerated.
    for (let varied = 0; varied < inputs.length; varied++)
      await this.content(this.pairs[0].own, varied, this.lengths.fill);
    const { difference, compared } = await this.firstDifference(this.lengths.fill);
    if (difference !== null) return { same: false, what: difference };
    if (compared === 0)
      return { same: true, what: 'not compared: the model does not compute the inputs that were tried' };
    return { same: true, what: 'padded inputs give the same answers as unpadded ones' };
  }

  private async firstDifference(fill: Fill): Promise<{ difference: string | null; compared: number }> {
    let compared = 0;
    for (let varied = -1; varied < this.spec.signature.inputs.length; varied++) {
      for (const { own, bucket } of this.pairs) {
        if (varied >= 0 && compared > 0 && this.spec.isLate()) break;
        const content = await this.content(own, varied, fill);
        if (content === null) continue;
        const padded = await this.padded(content, bucket, fill);
        // A length that the model cannot compute at all is detected by the timing.
        if (padded === null && (await this.content(bucket, varied, fill)) === null) continue;
        const what = this.whatDiffers(content.answers, padded);
        compared++;
        if (what !== null) return { difference: `${what} a length of ${own} padded to ${bucket}`, compared };
      }
    }
    return { difference: null, compared };
  }

  /**
   * Inputs without an element that looks like padding; in input `varied`, only the first does not, and the others are
   * random. Null: the model rejects them.
   */
  private async content(length: number, varied: number, fill: Fill): Promise<Content | null> {
    const { inputs } = withSizes(this.spec.signature, length);
    const drawn = inputs.map((input, i) => elements(input, fill[i] ?? 0, i === varied, this.random));
    const answers = await this.run(drawn, length);
    if (answers === null) return null;
    this.comparer.expect(answers);
    return { length, inputs: drawn, answers };
  }

  /** Answers to the padded inputs, cut back to their length. Null: the model cannot compute them. */
  private async padded(
    { length, inputs }: Content,
    bucket: number,
    fill: Fill,
  ): Promise<readonly Uint8Array[] | null> {
    const { signature } = this.spec;
    const longer = signature.inputs.map((input, i) =>
      atOtherLength(input, inputs[i], { from: length, to: bucket, value: fill[i] ?? 0 }),
    );
    const outputs = await this.run(longer, bucket);
    if (outputs === null) return null;
    return signature.outputs.map((output, o) =>
      atOtherLength(output, outputs[o], { from: bucket, to: length, value: 0 }),
    );
  }

  /** First output that differs beyond tolerance, as the start of a sentence; null: none. */
  private whatDiffers(expected: readonly Uint8Array[], found: readonly Uint8Array[] | null): string | null {
    if (found === null) return 'the model cannot compute';
    const differing = this.comparer.compare(expected, found);
    if (differing === null) return null;
    const { output, difference, scale } = differing;
    return `output ${output} differs by ${shortNumber(difference)}, and its values go up to ${scale}, for`;
  }

  /** Null: the model cannot compute such inputs. */
  private async run(inputs: readonly Uint8Array[], length: number): Promise<readonly Uint8Array[] | null> {
    const shapes = withSizes(this.spec.signature, length).inputs.map(({ shape }) => [1, ...shape]);
    try {
      return (await this.session.run(0, 1, inputs, shapes)).outputs;
    } catch (error) {
      if (error instanceof InputError) return null;
      throw error;
    }
  }
}

/**
 * Elements of a tensor: integers and booleans are 1, or 0 if padding looks like 1; others are within 0.5 of that. With
 * `isVaried` all but the first are 0 or 1, or from −1 to 1.
 */
function elements(
  { datatype, bytes }: TensorSignature,
  fill: number,
  isVaried: boolean,
  random: Random,
): Uint8Array<ArrayBuffer> {
  const real = (varied: boolean) => (varied ? 2 * random() - 1 : (1 + random()) / 2 - (fill === 1 ? 0.5 : 0));
  const whole = (varied: boolean) => (varied ? Math.floor(2 * random()) : fill === 1 ? 0 : 1);
  const draw = datatype.startsWith('FP') ? real : whole;
  return tensorOf(datatype, bytes, (at) => draw(isVaried && at > 0));
}
