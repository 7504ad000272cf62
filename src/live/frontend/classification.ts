import { fromHalf } from '../half.js';
import type { Datatype } from '../model.js';
import { Refusal, shown } from './refusal.js';
import { viewOf } from './views.js';

/** More elements take too long to sort for one request. */
const MOST_ELEMENTS = 2 ** 20;

/**
 * The `count` largest elements of one row of an output as "value:index" or "value:index:label", the largest first
 * (classification extension). Throws a refusal for an output without numbers.
 */
export function classesOf(
  output: string,
  datatype: Datatype,
  row: Uint8Array,
  count: number,
  labels: readonly string[] | null,
): string[] {
  const values = numbersOf(output, datatype, row);
  const order = Uint32Array.from(values.keys());
  // NaN is no size, so it comes last.
  order.sort((a, b) => compare(values[b], values[a]) || a - b);
  return Array.from(order.subarray(0, count), (index) => {
    const label = labels?.[index];
    return label === undefined ? `${values[index]}:${index}` : `${values[index]}:${index}:${label}`;
  });
}

function numbersOf(
  output: string,
  datatype: Datatype,
  row: Uint8Array,
): ArrayLike<number> & { keys(): IterableIterator<number> } {
  const view = viewOf(datatype, row);
  if (view.length > MOST_ELEMENTS)
    throw new Refusal(
      'tooLarge',
      `output ${shown(output)}: ${view.length} elements are too many to be classes`,
    );
  if (datatype === 'FP16') return Float64Array.from(view as Uint16Array, fromHalf);
  if (datatype === 'INT64' || datatype === 'UINT64') return Float64Array.from(view as BigInt64Array, Number);
  return view as Float64Array;
}

function compare(a: number, b: number): number {
  if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : -1;
  if (Number.isNaN(b)) return 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
