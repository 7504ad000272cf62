import { expect, it } from 'vitest';
import { policyNotes } from '../../src/config/policy-notes.js';

const notesOf = (
  kind: string,
  asked: {
    classes?: boolean;
    lengths?: boolean;
    kinds?: number;
    tenants?: number;
    padding?: 'bucket';
  },
) =>
  policyNotes({
    policy: { kind, options: {} },
    kinds: asked.kinds ?? 1,
    hasClasses: asked.classes ?? false,
    hasLengths: asked.lengths ?? false,
    tenants: asked.tenants ?? 0,
    padding: asked.padding ?? 'batch',
  }).map(({ about }) => about);

it('says of a policy only what was asked for and it does not do', () => {
  expect(notesOf('fifo', {})).toEqual([]);
  expect(notesOf('fifo', { classes: true, lengths: true, kinds: 2 })).toEqual([
    'weights',
    'lengths',
    'kinds',
  ]);
  expect(notesOf('escapement', { classes: true, kinds: 2 })).toEqual([]);
  expect(notesOf('escapement', { lengths: true })).toEqual([]);
});

it('says that no policy batches by length where requests have classes', () => {
  expect(notesOf('escapement', { classes: true, lengths: true })).toEqual(['lengthsWithClasses']);
  expect(notesOf('edf', { classes: true, lengths: true })).toEqual(['weights', 'lengths']);
});

it('says of two tenants or more that their shares do not come first', () => {
  expect(notesOf('edf', { tenants: 2 })).toEqual(['shares']);
  expect(notesOf('edf', { tenants: 1 })).toEqual([]);
  expect(notesOf('escapement', { tenants: 2 })).toEqual([]);
  expect(notesOf('escapement', { tenants: 2, padding: 'bucket' })).toEqual(['sharesWithLengths']);
});
