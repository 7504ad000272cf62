import { describe, expect, it } from 'vitest';
import { COLOR_STYLE, DARK, LIGHT, MODEL_COLORS, SERIES_COLORS } from '../../src/report/colors.js';
import { contrast } from './contrast.js';

/** What small text needs (WCAG 2.2, 1.4.3). */
const READABLE = 4.5;

describe.each([
  ['light', LIGHT],
  ['dark', DARK],
])('the colors of a %s page', (_, colors) => {
  it.each([
    ...(['ink', 'muted', 'strong', 'alert', 'laneA', 'laneB'] as const).flatMap(
      (text) =>
        [
          [text, 'card'],
          [text, 'ground'],
        ] as const,
    ),
    ['onStrong', 'strong'] as const,
    ['alert', 'alertGround'] as const,
  ])('make %s readable on %s', (text, ground) => {
    expect(contrast(colors[text], colors[ground])).toBeGreaterThanOrEqual(READABLE);
  });

  it('are variables of its style sheet', () => {
    expect(COLOR_STYLE).toContain(`--ink: ${colors.ink};`);
    expect(COLOR_STYLE).toContain(`--alert-ground: ${colors.alertGround};`);
  });
});

it.each(SERIES_COLORS)('the series color %s is readable on white', (color) => {
  expect(contrast(color, '#ffffff')).toBeGreaterThanOrEqual(READABLE);
});

it.each(MODEL_COLORS)('black is readable on the model color %s', (color) => {
  expect(contrast(color, '#000000')).toBeGreaterThanOrEqual(READABLE);
});

// Reference values of the formula in WCAG 2.2.
it.each([
  ['#000000', '#ffffff', 21],
  ['#777777', '#ffffff', 4.48],
  ['#ffffff', '#777777', 4.48],
  ['#0000ff', '#0000ff', 1],
])('the contrast of %s and %s is %d', (a, b, expected) => {
  expect(contrast(a, b)).toBeCloseTo(expected, 2);
});
