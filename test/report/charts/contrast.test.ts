import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contrast, readableOn } from '../../../src/report/charts/contrast.js';

describe('readableOn', () => {
  it('has at least the contrast that small text needs, on any ground', () => {
    const ground = fc
      .integer({ min: 0, max: 0xffffff })
      .map((color) => `#${color.toString(16).padStart(6, '0')}`);
    fc.assert(
      fc.property(ground, (color) => {
        expect(contrast(color, readableOn(color))).toBeGreaterThanOrEqual(4.5);
      }),
    );
  });
});

describe('contrast', () => {
  // Reference values of the formula in WCAG 2.2.
  it.each([
    ['#000000', '#ffffff', 21],
    ['#777777', '#ffffff', 4.48],
    ['#ffffff', '#777777', 4.48],
    ['#0000ff', '#0000ff', 1],
  ])('of %s and %s is %d', (a, b, expected) => {
    expect(contrast(a, b)).toBeCloseTo(expected, 2);
  });
});
