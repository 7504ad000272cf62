import fc from 'fast-check';
import type { ActionMessage, ResultMessage } from '../../src/live/messages.js';
import { LARGE_BYTES } from '../../src/live/transfer.js';

/** One for each field: a field that is added to a message and not here is a type error. */
type Fields<Message> = { readonly [Key in keyof Message]-?: fc.Arbitrary<Message[Key]> };

const time = fc.maxSafeInteger();
/** Small ones travel with others, large ones alone. */
const tensor = fc.oneof(
  { weight: 99, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => new Uint8Array(bytes)) },
  { weight: 1, arbitrary: fc.nat(255).map((byte) => new Uint8Array(LARGE_BYTES + 1).fill(byte)) },
);
const tensors = fc.array(tensor);
const shapes = fc.option(fc.array(fc.array(fc.maxSafeNat()), { minLength: 1 }), { nil: undefined });
const gpu = fc.nat({ max: 2 ** 31 - 1 });
const text = fc.string({ unit: 'grapheme' });

export const ACTION_FIELDS: Fields<ActionMessage> = {
  id: fc.maxSafeNat(),
  gpu,
  kind: fc.constantFrom(0, 1, 2),
  model: gpu,
  batchIndex: fc.nat(),
  bucket: fc.nat(63),
  count: fc.nat(),
  earliestNs: time,
  latestNs: fc.oneof(time, fc.constant(Number.POSITIVE_INFINITY)),
  inputs: tensors,
  shapes,
  kept: fc.option(
    fc.array(fc.record({ input: gpu, at: gpu, key: gpu, begin: gpu, end: gpu }, { noNullPrototype: true })),
    { nil: undefined },
  ),
  keep: fc.option(fc.array(fc.integer()), { nil: undefined }),
};

export const RESULT_FIELDS: Fields<ResultMessage> = {
  id: fc.maxSafeNat(),
  gpu,
  status: fc.nat(),
  beginNs: time,
  endNs: time,
  copyInNs: time,
  copyOutNs: time,
  outputs: tensors,
  shapes,
  error: text,
  inputErrors: fc.option(fc.array(text, { minLength: 1 }), { nil: undefined }),
  kept: fc.option(fc.array(fc.integer({ min: 1 })), { nil: undefined }),
  // Never leaves a controller.
  lost: fc.constant(undefined),
};
