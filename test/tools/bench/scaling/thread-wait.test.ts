import { expect, test } from 'vitest';
import { parseWaitNs } from '../../../../src/tools/bench/scaling/thread-wait.js';

test('reads the time in the queue for a processor', () => {
  expect(parseWaitNs('305819604 359863082 87\n')).toBe(359_863_082);
  expect(parseWaitNs('')).toBeNull();
  expect(parseWaitNs('1 2')).toBeNull();
});
