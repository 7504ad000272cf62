import { expect, it } from 'vitest';
import { flagsOf } from './flags.js';

it.each([
  [[], { seed: null, seeds: 200, isAlone: false }],
  [['--seed', '7'], { seed: 7, seeds: 1, isAlone: true, workers: 1 }],
  [['--seed', '7', '--seeds', '3'], { seed: 7, seeds: 3, isAlone: false }],
  [['--seed', '7', '--minutes', '5'], { seeds: 2 ** 40, minutes: 5, isAlone: false }],
  [['--simulator', '--every', '64'], { every: 64, seeds: 200 }],
  [['--seeds', '1'], { seed: null, seeds: 1, isAlone: false, workers: 1 }],
])('%j', (args, expected) => {
  expect(flagsOf(args)).toMatchObject(expected);
});

it.each([
  [['--seeds', '0'], '--seeds 0: it is a whole number from 1'],
  [['--seed', '-1'], 'argument is ambiguous'],
  [['--minutes', '1.5'], '--minutes 1.5: it is a whole number from 1'],
  [['--plan', 'a.json', '--seeds', '2'], '--plan and --seeds do not go together'],
  [['--every', '0'], '--every 0: it is a whole number from 1'],
  [['--simulate'], "Unknown option '--simulate'"],
  [['7'], "Unexpected argument '7'"],
])('%j is refused', (args, why) => {
  expect(() => flagsOf(args)).toThrow(why);
});
