import { fromHalf } from '../half.js';
import type { Datatype } from '../model.js';
import { ApiError, shown } from './api-error.js';
import { MOST_CLASSIFIED } from './limits.js';
import { viewOf } from './views.js';

/** Up to so many are picked in one pass; sorting is faster for more. */
const FEW_CLASSES = 32;

/** An output, as texts instead of numbers. */
interface ClassifiedOutput {
  readonly name: string;
  readonly datatype: Datatype;
  /** Names of its elements; null: they have none. */
  readonly labels: readonly string[] | null;
}

/**
 * The `count` largest elements of each row of an output as "value:index" or "value:index:label", the largest first
 * (classification extension). Throws an `ApiError` for an output without numbers, or with too many.
 */
export function classesOf(
  { name, datatype, labels }: ClassifiedOutput,
  rows: readonly Uint8Array[],
  count: number,
): string[] {
  if (datatype === 'BYTES') throw new ApiError('invalid', `output ${shown(name)}: texts have no classes`);
  const texts: string[] = [];
  let elements = 0;
  for (const row of rows) {
    const values = numbersOf(datatype, row);
    elements += values.length;
    if (elements > MOST_CLASSIFIED)
      throw new ApiError(
        'tooLarge',
        `output ${shown(name)}: more than ${MOST_CLASSIFIED} elements to classify`,
      );
    for (const index of largest(values, Math.min(count, values.length))) {
      const label = labels?.[index];
      texts.push(label === undefined ? `${values[index]}:${index}` : `${values[index]}:${index}:${label}`);
    }
  }
  return texts;
}

function numbersOf(datatype: Datatype, row: Uint8Array): ArrayLike<number> {
  const view = viewOf(datatype, row);
  if (datatype === 'FP16') return Float64Array.from(view as Uint16Array, fromHalf);
  if (datatype === 'INT64' || datatype === 'UINT64') return Float64Array.from(view as BigInt64Array, Number);
  return view as Float64Array;
}

/** Indices of the largest values, the largest first, the first of equal ones first. */
function largest(values: ArrayLike<number>, count: number): ArrayLike<number> & Iterable<number> {
  if (count > FEW_CLASSES) {
    const order = Uint32Array.from({ length: values.length }, (_, index) => index);
    return order.sort((a, b) => compare(values[b], values[a]) || a - b).subarray(0, count);
  }
  const top: number[] = [];
  for (let index = 0; index < values.length; index++) {
    let at = top.length;
    while (at > 0 && compare(values[index], values[top[at - 1]]) > 0) at--;
    if (at === count) continue;
    if (top.length === count) top.pop();
    top.splice(at, 0, index);
  }
  return top;
}

/** NaN is no size, so it comes last. */
function compare(a: number, b: number): number {
  if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : -1;
  if (Number.isNaN(b)) return 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
