import { describe, expect, it } from 'vitest';
import { paddingOf } from '../../src/config/create-policy.js';

const PLACE = { file: 'a.yaml', path: 'padding' };

describe('batches are by length', () => {
  const escapement = { kind: 'escapement', options: {} };
  const edf = { kind: 'edf', options: {} };

  it('by default under a policy that can, and otherwise not at all', () => {
    expect(paddingOf({ policy: escapement }, PLACE)).toBe('bucket');
    expect(paddingOf({ policy: edf }, PLACE)).toBe('batch');
    expect(paddingOf({ policy: escapement, padding: 'longest' }, PLACE)).toBe('longest');
    expect(() => paddingOf({ policy: edf, padding: 'bucket' }, PLACE)).toThrow(
      'edf does not batch by length',
    );
  });
});
