import { toHalf } from '../half.js';
import type { Datatype } from '../model.js';
import { bytesOfJsonTexts } from './json-texts.js';
import { Refusal, shown } from './refusal.js';
import { newView, type Views } from './views.js';

/** Where the elements of the tensors in a JSON text are. */
export interface TensorData {
  /** Those of one tensor, requests one after the other. `data`: the member of that name. Throws a refusal. */
  bytesOf(name: string, datatype: Datatype, shape: readonly number[], data: unknown): Uint8Array;
}

/** They are what the text was parsed to. */
export class ParsedData implements TensorData {
  constructor(private readonly hasInfinities: boolean) {}

  bytesOf(name: string, datatype: Datatype, shape: readonly number[], data: unknown): Uint8Array {
    return bytesOfJson(name, datatype, shape, data, this.hasInfinities);
  }
}

/**
 * The `data` of a JSON tensor as bytes: flat, or nested as `shape` says, in row-major order. `hasInfinities`: an
 * infinite number is meant as such, rather than too large for a double. Throws a refusal that names the element that
 * `datatype` cannot hold.
 */
export function bytesOfJson(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  data: unknown,
  hasInfinities = false,
): Uint8Array {
  if (datatype === 'BYTES') return bytesOfJsonTexts(name, shape, data);
  if (data === undefined || data === null)
    throw new Refusal('invalid', `input ${shown(name)}: data is missing`);
  if (!Array.isArray(data)) throw new Refusal('invalid', `input ${shown(name)}: data is not an array`);
  let count = 1;
  for (const size of shape) count *= size;
  // All lengths first: a shape alone gets no memory.
  const isNested = Array.isArray(data[0]) && shape.length > 0;
  if (isNested) checkNesting(name, data, shape, 0);
  else if (data.length !== count) refuseData(name, `expected ${elements(count)}, got ${data.length}`);
  const view: Views[Datatype] = newView(datatype, count);
  const writer = new Writer(name, datatype, view, hasInfinities);
  if (isNested) writer.nested(data, shape.length - 1);
  else writer.row(data);
  return new Uint8Array(view.buffer);
}

function checkNesting(name: string, values: unknown, shape: readonly number[], depth: number): void {
  const otherwise = `data is nested otherwise than its shape ${shown(shape)}`;
  if (!Array.isArray(values)) refuseData(name, otherwise);
  const expected = shape[depth];
  if (values.length !== expected) {
    refuseData(
      name,
      `${otherwise}: expected ${elements(expected)} in dimension ${depth}, got ${values.length}`,
    );
  }
  if (depth < shape.length - 1) for (const inner of values) checkNesting(name, inner, shape, depth + 1);
}

function refuseData(name: string, what: string): never {
  throw new Refusal('invalid', `input ${shown(name)}: ${what}`);
}

/** Writes `value` into element `at` of a typed array; false: it is no such value. */
type Put = (view: never, at: number, value: unknown) => boolean;

class Writer {
  private at = 0;
  private readonly put: (view: Views[Datatype], at: number, value: unknown) => boolean;

  constructor(
    private readonly name: string,
    private readonly datatype: Datatype,
    private readonly view: Views[Datatype],
    private readonly hasInfinities: boolean,
  ) {
    this.put = ELEMENTS[datatype].put as typeof this.put;
  }

  /** `depth`: levels of lists in the values. */
  nested(values: readonly unknown[], depth: number): void {
    if (depth === 0) this.row(values);
    else for (const inner of values) this.nested(inner as readonly unknown[], depth - 1);
  }

  row(values: readonly unknown[]): void {
    const { view, put } = this;
    let at = this.at;
    for (let i = 0; i < values.length; i++, at++) {
      if (!put(view, at, values[i]) && !this.isSpecial(values[i])) this.refuse(at, values[i]);
    }
    this.at = at;
  }

  /** What is not finite is written all the same, and looked at here, off the usual way. */
  private isSpecial(value: unknown): boolean {
    if (!this.datatype.startsWith('FP') || typeof value !== 'number') return false;
    return Number.isNaN(value) || (this.hasInfinities && !Number.isFinite(value));
  }

  private refuse(at: number, value: unknown): never {
    const { expects } = ELEMENTS[this.datatype];
    const isInfinite = value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY;
    const what = isInfinite && !this.hasInfinities ? 'too large for a double' : shown(value);
    return refuseData(this.name, `element ${at} is ${what}, expected ${expects}`);
  }
}

function elements(count: number): string {
  return count === 1 ? '1 element' : `${count} elements`;
}

/** False also where the value became infinite on the way into its element. */
const putFloat = (view: Float32Array | Float64Array, at: number, value: unknown): boolean => {
  if (typeof value !== 'number') return typeof value === 'bigint' && putFloat(view, at, Number(value));
  view[at] = value;
  return Number.isFinite(view[at]);
};

/** All of these bits are set in halves that are not finite. */
const HALF_EXPONENT = 0x7c00;

const putHalf = (view: Uint16Array, at: number, value: unknown): boolean => {
  if (typeof value !== 'number') return typeof value === 'bigint' && putHalf(view, at, Number(value));
  view[at] = toHalf(value);
  return (view[at] & HALF_EXPONENT) !== HALF_EXPONENT;
};

/** Beyond 2^53 only bigints are exact. */
function long(least: bigint, most: bigint): { put: Put; expects: string } {
  const isSigned = least < 0n;
  return {
    put: (view: BigInt64Array | BigUint64Array, at, value) => {
      if (typeof value === 'bigint') {
        view[at] = value;
        return value >= least && value <= most;
      }
      if (!Number.isSafeInteger(value) || (!isSigned && (value as number) < 0)) return false;
      view[at] = BigInt(value as number);
      return true;
    },
    expects: `a whole number from ${least} to ${most}`,
  };
}

function float(datatype: Datatype, put: Put): { put: Put; expects: string } {
  return { put, expects: `a number within the range of ${datatype}` };
}

function whole(least: number, most: number): { put: Put; expects: string } {
  return {
    put: (view: Uint8Array, at, value) => {
      if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) return false;
      view[at] = value as number;
      return true;
    },
    expects: `a whole number from ${least} to ${most}`,
  };
}

const ELEMENTS: Readonly<Record<Datatype, { put: Put; expects: string }>> = {
  BYTES: { put: () => false, expects: 'a string' },
  BOOL: {
    put: (view: Uint8Array, at, value) => {
      if (value !== true && value !== false && value !== 0 && value !== 1) return false;
      view[at] = Number(value);
      return true;
    },
    expects: 'true or false',
  },
  UINT8: whole(0, 255),
  UINT16: whole(0, 65535),
  UINT32: whole(0, 2 ** 32 - 1),
  UINT64: long(0n, 2n ** 64n - 1n),
  INT8: whole(-128, 127),
  INT16: whole(-32768, 32767),
  INT32: whole(-(2 ** 31), 2 ** 31 - 1),
  INT64: long(-(2n ** 63n), 2n ** 63n - 1n),
  FP16: float('FP16', putHalf),
  FP32: float('FP32', putFloat),
  FP64: float('FP64', putFloat),
};
