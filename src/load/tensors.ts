import { EscapementError } from '../base/errors.js';
import type { Random } from '../base/random/streams.js';
import { MIB } from '../base/units.js';
import { DATATYPES, type Datatype } from '../live/model.js';
import { bytesOfTexts } from '../live/texts.js';
import { plainLine } from './reply.js';

/** An input or output of a model as described by a server; dimensions of −1 are the caller's choice. */
export interface TensorDescription {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
}

/** Limit on all inputs of a run, whose sizes come from the server and are not trusted. */
const MOST_BYTES = 512 * MIB;

/** An input of one request. */
export interface InputTensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** Little-endian elements, row after row; BYTES elements are length-prefixed. */
  readonly data: Buffer<ArrayBuffer>;
  /** Parameters of this input in the request; absent if there are none. */
  readonly parameters?: Readonly<Record<string, Parameter>>;
}

/** A parameter of the protocol. */
export type Parameter = boolean | number | string;

/** Words of random texts, similar in length. */
const WORDS = 'the cluster answers each request before its deadline or says at once why not'.split(' ');
const WORDS_PER_TEXT = 8;
const MOST_TEXT_BYTES = 100;

/**
 * Makes inputs once for all requests: uniform values in [0, 1) for floating point, texts of eight words for BYTES,
 * zeros for the rest, because a random integer might not be a valid index. Equal tensors are made once, so that many
 * models use no more memory than one.
 */
export class TensorMaker {
  private readonly made = new Map<string, Buffer<ArrayBuffer>>();
  private bytes = 0;

  constructor(private readonly random: Random) {}

  /**
   * A free first dimension becomes `rows`, any other `length`. Throws `E_UNKNOWN_MODEL` for an unknown type, and for
   * inputs that are too large.
   */
  inputs(model: string, descriptions: readonly TensorDescription[], rows = 1, length = 1): InputTensor[] {
    return descriptions.map(({ name, datatype, shape: described }) => {
      if (!isDatatype(datatype)) {
        const known = Object.keys(DATATYPES).join(', ');
        throw new EscapementError(
          'E_UNKNOWN_MODEL',
          `model ${model}: input ${plainLine(name)} is of type ${plainLine(datatype)}, and only ${known} can be generated: use another model`,
        );
      }
      const shape = described.map((size, i) => (size >= 0 ? size : i === 0 ? rows : length));
      const data = this.data(datatype, shape);
      if (data !== null) return { name, datatype, shape, data };
      const sizes = plainLine(shape.join(','));
      throw new EscapementError(
        'E_UNKNOWN_MODEL',
        `model ${model}: input ${plainLine(name)} is ${datatype} [${sizes}], and all inputs together may have ${MOST_BYTES / MIB} MiB: use fewer or smaller models`,
      );
    });
  }

  /** Null if too large. */
  private data(datatype: Datatype, shape: readonly number[]): Buffer<ArrayBuffer> | null {
    const count = shape.reduce((product, size) => product * size, 1);
    const key = `${datatype} ${count}`;
    const known = this.made.get(key);
    if (known !== undefined) return known;
    const bytes = count * (datatype === 'BYTES' ? MOST_TEXT_BYTES : DATATYPES[datatype].bytes);
    if (this.bytes + bytes > MOST_BYTES) return null;
    this.bytes += bytes;
    const data = fill(datatype, count, this.random);
    this.made.set(key, data);
    return data;
  }
}

/** True for a type of the protocol; the name comes from a server or a file. */
export function isDatatype(name: unknown): name is Datatype {
  return typeof name === 'string' && Object.hasOwn(DATATYPES, name);
}

function fill(datatype: Datatype, count: number, random: Random): Buffer<ArrayBuffer> {
  if (datatype === 'BYTES') return Buffer.from(bytesOfTexts(textsOf(count, random)).buffer);
  const data = Buffer.alloc(count * DATATYPES[datatype].bytes);
  for (let i = 0; i < count; i++) {
    if (datatype === 'FP32') data.writeFloatLE(random(), i * 4);
    else if (datatype === 'FP64') data.writeDoubleLE(random(), i * 8);
    // Exponent −1 and a random fraction: 0.5 to 1.
    else if (datatype === 'FP16') data.writeUInt16LE(0x3800 | Math.floor(random() * 1024), i * 2);
    else break;
  }
  return data;
}

function textsOf(count: number, random: Random): string[] {
  const word = () => WORDS[Math.floor(random() * WORDS.length)];
  return Array.from({ length: count }, () => Array.from({ length: WORDS_PER_TEXT }, word).join(' '));
}
