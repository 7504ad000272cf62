import { expect, it } from 'vitest';
import { isQuiet } from './quiet-machine.js';

const FROM = { all: 5000, stolen: 70, idle: 3000 };

it.each([
  ['only this process works', { all: 5200, stolen: 70, idle: 3100 }, true],
  ['a service wakes up now and then', { all: 5200, stolen: 72, idle: 3092 }, true],
  ['another program takes a third of a core', { all: 5200, stolen: 70, idle: 3067 }, false],
  ['the host takes a fifth of a core', { all: 5200, stolen: 90, idle: 3080 }, false],
])('a machine of two cores of which %s in a second', (_, to, quiet) => {
  expect(isQuiet(FROM, to, 1)).toBe(quiet);
});

it('counts as quiet where there is no /proc', () => {
  const nothing = { all: 0, stolen: 0, idle: 0 };
  expect(isQuiet(nothing, nothing, 1)).toBe(true);
});
