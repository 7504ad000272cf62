import { bucketAt, bytesAtLength } from '../lengths.js';
import {
  bytesOfShape,
  DATATYPES,
  type Datatype,
  FREE,
  fitsShape,
  hasFreeSizes,
  type InputLengths,
  type ServedModel,
  type Shape,
  type TensorSignature,
} from '../model.js';
import { countTexts, textsProblem } from '../texts.js';
import { ApiError, shown } from './api-error.js';
import type { FrontendSettings } from './frontend.js';

/** Collects the inputs of one call in the order of the model's signature, each checked against it. */
export class InputSet {
  /** Requests in the batch; 0 until the first input was claimed. */
  count = 0;
  private readonly signatures: readonly TensorSignature[];
  private readonly bytes: (Uint8Array | undefined)[];
  /** Shape that each input was claimed with. */
  private readonly claimed: Shape[] = [];
  private readonly isFree: boolean;
  /** Length of its inputs, if the model takes several and one was claimed; 0 otherwise. */
  length = 0;

  constructor(
    private readonly model: ServedModel,
    private readonly limits: Pick<FrontendSettings, 'maxBatch' | 'maxBodyBytes'>,
  ) {
    this.signatures = model.signature.inputs;
    this.bytes = new Array(this.signatures.length);
    this.isFree = hasFreeSizes(model.signature);
  }

  /** The whole shapes of the inputs, where requests choose sizes. */
  get shapes(): readonly Shape[] | undefined {
    return this.isFree ? this.claimed : undefined;
  }

  /** Finds the input that a tensor is for. Its datatype and shape must be the model's; throws an `ApiError`. */
  claim(name: unknown, datatype: unknown, shape: unknown): number {
    const index = this.indexOf(name);
    const signature = this.signatures[index];
    if (this.bytes[index] !== undefined) throw new ApiError('invalid', `input ${shown(name)}: given twice`);
    const count = this.countOf(signature, shape);
    if (datatype !== signature.datatype || count === 0)
      throw new ApiError(
        'invalid',
        `input ${shown(name)}: expected ${this.expected(signature)}, got ${shownType(datatype)} ${shown(shape)}`,
      );
    if (this.count !== 0 && count !== this.count)
      throw new ApiError(
        'invalid',
        `input ${shown(name)}: expected a batch of ${this.count} like the inputs before it, got ${count}`,
      );
    this.count = count;
    this.claimed[index] = shape as Shape;
    this.checkSize(name, this.bytesOf(index));
    return index;
  }

  /** Takes a whole body as the only input, of one request. Throws an `ApiError` unless it fits. */
  claimWhole(body: Uint8Array): void {
    const { signatures } = this;
    if (signatures.length !== 1) {
      const names = signatures.map(({ name }) => shown(name)).join(', ');
      throw new ApiError(
        'invalid',
        `a body without JSON needs a model with one input, this one has ${names}`,
      );
    }
    const index = this.claim(signatures[0].name, signatures[0].datatype, this.wholeShape(body));
    this.put(index, body);
  }

  /** The shape of a whole body, where no more than one size is free. */
  private wholeShape(body: Uint8Array): Shape {
    const [{ name, datatype, shape }] = this.signatures;
    const { batched, lengths } = this.model.signature;
    if (!this.isFree && lengths === undefined) return batched ? [1, ...shape] : shape;
    const free = shape.indexOf(FREE);
    if (free !== shape.lastIndexOf(FREE))
      throw new ApiError(
        'invalid',
        `input ${shown(name)}: needs JSON that says its shape, as several sizes of [${shape.join(',')}] are free`,
      );
    const sizes = shape.map((size) => (size === FREE ? 1 : size));
    // What a text takes is known only from its length.
    const bytes = datatype === 'BYTES' ? countTexts(body) * DATATYPES.BYTES.bytes : body.length;
    if (free >= 0) sizes[free] = Math.floor(bytes / Math.max(1, bytesOfShape(datatype, sizes)));
    return batched ? [1, ...sizes] : sizes;
  }

  /** Bytes that a claimed input must have. */
  bytesOf(index: number): number {
    const { datatype, bytes } = this.signatures[index];
    if (this.isFree) return bytesOfShape(datatype, this.claimed[index]);
    return this.count * (this.length > 0 ? bytesAtLength(this.signatures[index], this.length) : bytes);
  }

  /** Where clients choose sizes they could ask for any amount of memory. */
  private checkSize(name: unknown, bytes: number): void {
    const { maxBodyBytes } = this.limits;
    if (!this.isFree || bytes <= maxBodyBytes) return;
    throw new ApiError(
      'tooLarge',
      `input ${shown(name)}: ${bytes} bytes are more than the largest body, ${maxBodyBytes} bytes`,
    );
  }

  signatureOf(index: number): TensorSignature {
    return this.signatures[index];
  }

  /** Takes a claimed input's data: requests one after the other. Throws an `ApiError` unless the size is right. */
  put(index: number, bytes: Uint8Array): void {
    if (this.signatures[index].datatype === 'BYTES') {
      this.putTexts(index, bytes);
      return;
    }
    const expectedBytes = this.bytesOf(index);
    if (bytes.length !== expectedBytes)
      throw new ApiError(
        'invalid',
        `input ${shown(this.signatures[index].name)}: expected ${expectedBytes} bytes, got ${bytes.length}`,
      );
    this.bytes[index] = bytes;
  }

  private putTexts(index: number, bytes: Uint8Array): void {
    const problem = textsProblem(bytes, this.bytesOf(index) / DATATYPES.BYTES.bytes);
    if (problem !== '')
      throw new ApiError('invalid', `input ${shown(this.signatures[index].name)}: ${problem}`);
    this.bytes[index] = bytes;
  }

  /** All inputs; throws an `ApiError` if one is missing. */
  complete(): readonly Uint8Array[] {
    for (let i = 0; i < this.bytes.length; i++) {
      if (this.bytes[i] !== undefined) continue;
      const signature = this.signatures[i];
      throw new ApiError(
        'invalid',
        `input ${shown(signature.name)}: missing, expected ${this.expected(signature)}`,
      );
    }
    return this.bytes as Uint8Array[];
  }

  private indexOf(name: unknown): number {
    for (let i = 0; i < this.signatures.length; i++) if (this.signatures[i].name === name) return i;
    const known = this.signatures.map((signature) => shown(signature.name)).join(', ');
    throw new ApiError(
      'invalid',
      `input ${shown(name)}: not an input of model ${this.model.spec.name} (${known})`,
    );
  }

  /** Requests that a tensor of that shape holds; 0: it does not fit. */
  private countOf(signature: TensorSignature, shape: unknown): number {
    const expected = signature.shape;
    const batchDims = this.model.signature.batched ? 1 : 0;
    if (this.isFree) return Array.isArray(shape) && isShape(shape) && fitsShape(shape, expected) ? 1 : 0;
    if (!Array.isArray(shape) || shape.length !== expected.length + batchDims) return 0;
    for (let i = 0; i < expected.length; i++)
      if (shape[i + batchDims] !== expected[i] && !this.isLength(signature, i, shape[i + batchDims]))
        return 0;
    if (batchDims === 0) return 1;
    const count: unknown = shape[0];
    return Number.isInteger(count) && (count as number) >= 1 && (count as number) <= this.limits.maxBatch
      ? (count as number)
      : 0;
  }

  /** True if a size of an input is the length that requests choose. Throws an `ApiError` for one that the model does not take. */
  private isLength({ name, shape }: TensorSignature, dimension: number, size: unknown): boolean {
    const { lengths } = this.model.signature;
    if (lengths === undefined || shape[dimension] !== FREE || !Number.isSafeInteger(size)) return false;
    const length = size as number;
    if (this.length !== 0 && length !== this.length)
      throw new ApiError(
        'invalid',
        `input ${shown(name)}: expected a length of ${this.length} like the inputs before it, got ${length}`,
      );
    if (bucketAt(lengths, length) < 0)
      throw new ApiError('invalid', `input ${shown(name)}: expected ${lengthsText(lengths)}, got ${length}`);
    this.length = length;
    return true;
  }

  private expected({ datatype, shape }: TensorSignature): string {
    if (this.isFree) return `${datatype} [${shape.join(',')}] with any size for -1`;
    if (!this.model.signature.batched) return `${datatype} [${shape.join(',')}]`;
    const { lengths } = this.model.signature;
    const forFree =
      lengths !== undefined && shape.includes(FREE) ? ` and ${lengthsText(lengths)} for -1` : '';
    return `${datatype} [${['n', ...shape].join(',')}] with n from 1 to ${this.limits.maxBatch}${forFree}`;
  }
}

function lengthsText({ buckets, fill }: InputLengths): string {
  if (fill === null) return `a length of ${buckets.join(', ')}`;
  return `a length from 1 to ${buckets[buckets.length - 1]}`;
}

function isShape(values: readonly unknown[]): values is Shape {
  return values.every((value) => Number.isSafeInteger(value));
}

/** Name of a datatype without quotes where it is one. */
function shownType(datatype: unknown): string {
  return typeof datatype === 'string' && DATATYPES[datatype as Datatype] !== undefined
    ? datatype
    : shown(datatype);
}
