import { describe, expect, it } from 'vitest';
import { fixedValues, sweepAxes } from '../../../src/report/study/points.js';

const axisOf = (key: string, values: string[], byDefault?: string) =>
  sweepAxes({ vary: [{ key, values }], defaults: byDefault === undefined ? {} : { [key]: byDefault } })[0]!;

describe('the axis of a varied key', () => {
  it('is numeric where all numbers have one unit, in ascending order', () => {
    const axis = axisOf('policy.scheduleAhead', ['10ms', '2ms', '5ms']);
    expect(axis).toMatchObject({ kind: 'number', unit: 'ms', isChoice: true, default: null });
    expect(axis.title).toBe(`${axis.label} (ms)`);
    expect(axis.values.map(({ text }) => text)).toEqual(['2ms', '5ms', '10ms']);
  });

  it('has words such as auto after its numbers', () => {
    const { kind, values } = axisOf('policy.scheduleAhead', ['auto', '10ms', '2ms']);
    expect(kind).toBe('number');
    expect(values.map(({ text, isWord }) => [text, isWord])).toEqual([
      ['2ms', false],
      ['10ms', false],
      ['auto', true],
    ]);
    expect(values[2]!.at).toBeGreaterThan(values[1]!.at);
  });

  it('knows the default by its value, whether or not the sweep ran it', () => {
    expect(axisOf('slo', ['10ms', '25ms'], '0.025s').default?.text).toBe('25ms');
    expect(axisOf('slo', ['10ms', '25ms'], '100ms').default).toMatchObject({ text: '100ms', isWord: false });
    expect(axisOf('policy.scheduleAhead', ['2ms', '5ms'], 'auto').default).toBeNull();
  });
});

it('a key with one value is no axis, but fixed', () => {
  const results = {
    vary: [
      { key: 'slo', values: ['10ms'] },
      { key: 'cluster.gpus', values: ['1', '2'] },
    ],
    defaults: {},
  };
  expect(sweepAxes(results).map(({ key, isChoice }) => [key, isChoice])).toEqual([['cluster.gpus', true]]);
  expect(fixedValues(results)).toEqual({ slo: '10ms' });
});
