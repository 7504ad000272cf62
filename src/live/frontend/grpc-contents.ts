import type { Datatype } from '../model.js';
import type { InferTensorContents, Long } from './grpc-messages.js';
import { Refusal, shown } from './refusal.js';
import { newView } from './views.js';

/**
 * The typed contents of a gRPC tensor as bytes. Throws a refusal unless there are `count` elements in the list that
 * `datatype` goes into.
 */
export function bytesOfContents(
  name: string,
  datatype: Datatype,
  count: number,
  contents: InferTensorContents,
): Uint8Array {
  const field = FIELDS[datatype];
  if (field === null)
    throw new Refusal('invalid', `input ${shown(name)}: ${datatype} must come in raw_input_contents`);
  const elements = contents[field] ?? [];
  if (elements.length !== count) {
    const got = `got ${elements.length}${strays(contents, field)}`;
    throw new Refusal('invalid', `input ${shown(name)}: expected ${count} elements in ${field}, ${got}`);
  }
  return field === 'int64_contents' || field === 'uint64_contents'
    ? bytesOfLongs(elements as readonly Long[])
    : bytesOfNumbers(name, datatype, elements as readonly (number | boolean)[]);
}

const FIELDS: Readonly<Record<Datatype, keyof InferTensorContents | null>> = {
  BOOL: 'bool_contents',
  UINT8: 'uint_contents',
  UINT16: 'uint_contents',
  UINT32: 'uint_contents',
  UINT64: 'uint64_contents',
  INT8: 'int_contents',
  INT16: 'int_contents',
  INT32: 'int_contents',
  INT64: 'int64_contents',
  FP16: null,
  FP32: 'fp32_contents',
  FP64: 'fp64_contents',
};

/** Lists that the client filled although the datatype does not go there. */
function strays(contents: InferTensorContents, field: string): string {
  const filled = Object.entries(contents).filter(([other, list]) => other !== field && list.length > 0);
  return filled.map(([other, list]) => `, and ${list.length} in ${other}`).join('');
}

function bytesOfLongs(elements: readonly Long[]): Uint8Array {
  const words = new Int32Array(2 * elements.length);
  for (let i = 0; i < elements.length; i++) {
    words[2 * i] = elements[i].low;
    words[2 * i + 1] = elements[i].high;
  }
  return new Uint8Array(words.buffer);
}

function bytesOfNumbers(
  name: string,
  datatype: Datatype,
  elements: readonly (number | boolean)[],
): Uint8Array {
  const view = newView(datatype, elements.length) as Float64Array;
  const exact = datatype.startsWith('INT') || datatype.startsWith('UINT');
  for (let i = 0; i < elements.length; i++) {
    const element = Number(elements[i]);
    view[i] = element;
    // A typed array keeps only as many bits as it has.
    if (exact && view[i] !== element)
      throw new Refusal(
        'invalid',
        `input ${shown(name)}: element ${i} is ${element}, which is no ${datatype}`,
      );
  }
  return new Uint8Array(view.buffer);
}
