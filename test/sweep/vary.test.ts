import { expect, test } from 'vitest';
import { parseSeeds, parseVary, parseVaryFlags } from '../../src/sweep/vary.js';

test('lists, ranges and both together; each value once', () => {
  expect(parseVary('slo=10ms,25ms')).toEqual({ key: 'slo', values: ['10ms', '25ms'] });
  expect(parseVary('policy.scheduleAhead=1ms:3ms:1ms,3ms,10ms').values).toEqual([
    '1ms',
    '2ms',
    '3ms',
    '10ms',
  ]);
  expect(parseVary('policy.kind=clockwork,fifo').values).toEqual(['clockwork', 'fifo']);
  expect(parseSeeds('1:3:1,9')).toEqual([1, 2, 3, 9]);
});

test.each(['slo', 'slo=', '=10ms', 'seed=1,2', 'slo=10ms,,20ms', 'slo=3ms:1ms:1ms'])(
  '--vary %s is refused',
  (text) => {
    expect(() => parseVary(text)).toThrow(expect.objectContaining({ code: 'E_USAGE' }));
  },
);

test.each(['', 'one', '1.5', '-1'])('--seeds "%s" is refused', (text) => {
  expect(() => parseSeeds(text)).toThrow(expect.objectContaining({ code: 'E_USAGE' }));
});

test('a key that is given twice is refused', () => {
  expect(() => parseVaryFlags(['slo=10ms', 'slo=20ms'])).toThrow(/slo is given twice/);
});
