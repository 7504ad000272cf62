import { toHalf } from '../half.js';
import type { Datatype } from '../model.js';
import { Refusal, shown } from './refusal.js';
import { newView, type Views } from './views.js';

/**
 * The `data` of a JSON tensor as bytes: flat, or nested as `shape` says, in row-major order. Throws a refusal that
 * names the element that is no `datatype`.
 */
export function bytesOfJson(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  data: unknown,
): Uint8Array {
  if (!Array.isArray(data)) throw new Refusal('invalid', `input ${shown(name)}: data is not an array`);
  let count = 1;
  for (const size of shape) count *= size;
  const view: Views[Datatype] = newView(datatype, count);
  const writer = new Writer(name, datatype, view);
  if (Array.isArray(data[0]) && shape.length > 1) writer.nested(data, shape, 0);
  else writer.row(data, count);
  return new Uint8Array(view.buffer);
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
  ) {
    this.put = ELEMENTS[datatype].put as typeof this.put;
  }

  row(values: readonly unknown[], expected: number): void {
    this.checkLength(values, expected);
    const { view, put } = this;
    let at = this.at;
    for (let i = 0; i < expected; i++, at++) {
      if (!put(view, at, values[i])) this.refuse(at, values[i]);
    }
    this.at = at;
  }

  nested(values: unknown, shape: readonly number[], depth: number): void {
    if (!Array.isArray(values)) {
      throw new Refusal(
        'invalid',
        `input ${shown(this.name)}: data is nested otherwise than its shape ${shown(shape)}`,
      );
    }
    if (depth === shape.length - 1) {
      this.row(values, shape[depth]);
      return;
    }
    this.checkLength(values, shape[depth]);
    for (const inner of values) this.nested(inner, shape, depth + 1);
  }

  private checkLength(values: readonly unknown[], expected: number): void {
    if (values.length === expected) return;
    throw new Refusal(
      'invalid',
      `input ${shown(this.name)}: expected ${expected} elements, got ${values.length}`,
    );
  }

  private refuse(at: number, value: unknown): never {
    const { expects } = ELEMENTS[this.datatype];
    throw new Refusal(
      'invalid',
      `input ${shown(this.name)}: element ${at} is ${shown(value)}, expected ${expects}`,
    );
  }
}

const putFloat = (view: Float32Array | Float64Array, at: number, value: unknown): boolean => {
  if (typeof value !== 'number') return false;
  view[at] = value;
  return true;
};

/** JSON numbers beyond this are not exact any more: such tensors travel as binary data. */
const putLong = (
  view: BigInt64Array | BigUint64Array,
  at: number,
  value: unknown,
  least: number,
): boolean => {
  if (!Number.isSafeInteger(value) || (value as number) < least) return false;
  view[at] = BigInt(value as number);
  return true;
};

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

const EXACT = Number.MAX_SAFE_INTEGER;

const ELEMENTS: Readonly<Record<Datatype, { put: Put; expects: string }>> = {
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
  UINT64: {
    put: (view: BigUint64Array, at, value) => putLong(view, at, value, 0),
    expects: `a whole number from 0 to ${EXACT} (send larger ones as binary data)`,
  },
  INT8: whole(-128, 127),
  INT16: whole(-32768, 32767),
  INT32: whole(-(2 ** 31), 2 ** 31 - 1),
  INT64: {
    put: (view: BigInt64Array, at, value) => putLong(view, at, value, -EXACT),
    expects: `a whole number from ${-EXACT} to ${EXACT} (send larger ones as binary data)`,
  },
  FP16: {
    put: (view: Uint16Array, at, value) => {
      if (typeof value !== 'number') return false;
      view[at] = toHalf(value);
      return true;
    },
    expects: 'a number',
  },
  FP32: { put: putFloat, expects: 'a number' },
  FP64: { put: putFloat, expects: 'a number' },
};
