import { expect, test } from 'vitest';
import { chooseAxes, parseSeeds, parseVary, parseVaryFlags } from '../../../src/run/sweep/plan-sweep.js';

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

const SECTION = {
  cases: [
    {
      key: 'setting',
      cases: ['one', 'one, two', 'three'].map((name) => ({ name, path: [], overrides: [] })),
    },
  ],
  vary: [{ key: 'slo', values: ['10ms'] }],
};

const chosen = (...texts: string[]) => {
  const { cases, vary } = chooseAxes(texts, SECTION);
  return [cases[0]?.cases.map(({ name }) => name), vary.map(({ key }) => key)];
};

test('--vary picks cases by name, and else replaces what the file varies', () => {
  expect(chosen()).toEqual([['one', 'one, two', 'three'], ['slo']]);
  expect(chosen('setting=three,one')).toEqual([['three', 'one'], ['slo']]);
  expect(chosen('policy.maxBatch=1,2')).toEqual([['one', 'one, two', 'three'], ['policy.maxBatch']]);
  expect(chosen('setting=one, two', 'seeds=1')).toEqual([['one, two'], ['seeds']]);
  expect(chosen('setting=one, two', 'setting=three,one')).toEqual([['one, two', 'three', 'one'], ['slo']]);
  expect(chooseAxes(['slo=1ms'])).toEqual({ cases: [], vary: [{ key: 'slo', values: ['1ms'] }] });
});

test.each([
  ['setting=four', '--vary setting: there is no case "four"; there are: one; one, two; three'],
  ['setting=one,four', /no case "four"/],
  ['setting=', /no case ""/],
])('--vary %s is refused', (text, message) => {
  expect(() => chosen(text)).toThrow(message);
});
