import { expect, it } from 'vitest';
import { ModelLabels } from '../../../../src/live/observe/telemetry/labels.js';

it('as many names as may be are labels, whatever comes after them, and the rest is one', () => {
  const labels = new ModelLabels(50);
  const numbers = Array.from({ length: 60 }, (_, i) => labels.numberOf(`m${i}`));
  expect(numbers.slice(0, 50)).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
  expect(new Set(numbers.slice(50))).toEqual(new Set([51]));
  expect([labels.valueOf(1), labels.valueOf(50), labels.valueOf(51)]).toEqual(['m0', 'm49', 'other']);
  expect(labels.numberOf('m7')).toBe(8);
  expect(labels.numberOf('m55')).toBe(51);
});
