import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ActionPacker,
  packInputs,
  ResultPacker,
  unpackActions,
  unpackInputs,
  unpackResults,
} from '../../../../../src/live/controller/link/thread/link-pack.js';
import { ACTION_FIELDS, RESULT_FIELDS } from '../../../arbitrary-messages.js';

const link = fc.nat();
const actions = fc.array(fc.tuple(link, fc.record(ACTION_FIELDS, { noNullPrototype: true })));
const results = fc.array(fc.tuple(link, fc.record(RESULT_FIELDS, { noNullPrototype: true })));

describe('messages between the scheduler and the thread of links', () => {
  it('carry actions', () => {
    const packer = new ActionPacker();
    fc.assert(
      fc.property(actions, (sent) => {
        // Tensors that go over are gone here.
        const expected = structuredClone(sent);
        for (const [to, action] of sent) packer.add(to, action);
        const { packed, transfer } = packer.take();
        const got: unknown[] = [];
        unpackActions(structuredClone(packed, { transfer }), (to, action) => got.push([to, action]));
        expect(got).toStrictEqual(expected);
      }),
    );
  });

  it('carry results', () => {
    const packer = new ResultPacker();
    fc.assert(
      fc.property(results, (sent) => {
        const expected = structuredClone(sent);
        for (const [from, result] of sent) packer.add(from, result, result.inputs ?? []);
        const { packed, transfer } = packer.take();
        const got: unknown[] = [];
        unpackResults(structuredClone(packed, { transfer }), (from, result) => got.push([from, result]));
        expect(got).toStrictEqual(expected);
      }),
    );
  });

  it('carry the inputs of requests that are tried elsewhere', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.maxSafeNat(), ACTION_FIELDS.inputs)), (entries) => {
        const sent = new Map(entries);
        const { contents, transfer } = packInputs(sent);
        expect(unpackInputs(structuredClone(contents, { transfer }))).toStrictEqual(sent);
      }),
    );
  });
});
