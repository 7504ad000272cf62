import { describe, expect, it } from 'vitest';
import { pointNames } from '../../../src/report/charts/point-names.js';

const PLOT = { width: 500, height: 300, ruleY: 250 };

/** By name: on which side of its point it stands, and how much higher or lower. */
function places(points: Readonly<Record<string, readonly [number, number]>>) {
  const named = Object.entries(points).map(([name, [x, y]]) => ({ name, x, y, row: { name } }));
  const layers = pointNames(named, PLOT, {}) as {
    data: { values: { name: string }[] };
    mark: { align: string; dy: number };
  }[];
  return Object.fromEntries(
    layers.flatMap(({ data, mark }) =>
      data.values.map(({ name }) => [name, [mark.align, Math.sign(mark.dy)]]),
    ),
  );
}

describe('names of points', () => {
  it('stand to the right of their points', () => {
    expect(places({ a: [100, 100], b: [100, 200] })).toEqual({ a: ['left', 0], b: ['left', 0] });
  });

  it('give way to marks and to names of others', () => {
    const { predictive, reactive } = places({ predictive: [100, 100], reactive: [112, 110] });
    expect(predictive).toEqual(['left', -1]);
    expect(reactive).toEqual(['left', 0]);
    const same = places({ first: [100, 100], second: [100, 104] });
    expect(same.first).not.toEqual(same.second);
  });

  it('give way to the rule and to the edge of the plot', () => {
    expect(places({ 'on the rule': [100, 248] })).toEqual({ 'on the rule': ['left', -1] });
    expect(places({ 'last of all': [480, 100] })).toEqual({ 'last of all': ['right', 0] });
  });
});
