import { expect, it } from 'vitest';
import { FREE, fitsShape } from '../../src/live/model.js';

it.each([
  [[2, 3], [2, 3], true],
  [[2, 4], [2, 3], false],
  [[2], [2, 3], false],
  [[2, 3, 1], [2, 3], false],
  [[], [], true],
  [[7, 3], [FREE, 3], true],
  [[0, 3], [FREE, 3], true],
  [[FREE, 3], [FREE, 3], false],
])('whether %j fits %j: %s', (shape, expected, fits) => {
  expect(fitsShape(shape, expected)).toBe(fits);
});
