import { describe, expect, it } from 'vitest';
import { ruleLabel } from '../../../src/report/charts/rule-label.js';

describe('ruleLabel', () => {
  const place = (lines: readonly (readonly { x: number; y: number }[])[], ruleY = 100) => {
    const [, { mark }] = ruleLabel({ text: 'SLO 10 ms', ruleY, width: 500, lines }) as [
      object,
      { mark: { align: string; baseline: string } },
    ];
    return [mark.align, mark.baseline];
  };
  const flat = (y: number) => [
    { x: 0, y },
    { x: 500, y },
  ];

  it('stands at the right end, above the rule', () => {
    expect(place([])).toEqual(['right', 'bottom']);
    expect(place([flat(40), flat(180)])).toEqual(['right', 'bottom']);
  });

  it('gives way to a line, also between the points of one', () => {
    const rising = [
      { x: 0, y: 190 },
      { x: 500, y: 85 },
    ];
    expect(place([rising])).toEqual(['left', 'bottom']);
    expect(place([flat(90)])).toEqual(['right', 'top']);
  });

  it('stays inside the plot', () => {
    expect(place([], 5)).toEqual(['right', 'top']);
  });
});
