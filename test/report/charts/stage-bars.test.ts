import { parse, type Spec } from 'vega';
import { compile } from 'vega-lite';
import { describe, expect, it } from 'vitest';
import { stageBars } from '../../../src/report/charts/stage-bars.js';
import { stageLines } from '../../../src/report/charts/stage-lines.js';
import type { ChartSpec } from '../../../src/report/charts/theme.js';

/** Compiles as Vega-Lite and parses as Vega; any warning is a failure. */
function warningsOf(spec: ChartSpec): string[] {
  const warnings: string[] = [];
  const note = (...parts: readonly unknown[]) => {
    warnings.push(parts.join(' '));
    return logger;
  };
  const logger = { level: () => logger, error: note, warn: note, info: () => logger, debug: () => logger };
  parse(compile(spec, { logger: logger as never }).spec as Spec);
  return warnings;
}

interface Layered {
  readonly title: { readonly subtitle: readonly string[] };
  readonly data: { readonly values: readonly Record<string, unknown>[] };
  readonly layer: readonly {
    readonly encoding: Readonly<Record<string, { scale: Record<string, unknown> }>>;
  }[];
}

const layered = (spec: ChartSpec) => spec as unknown as Layered;

describe('the stages side by side', () => {
  const bar = (name: string, mean: number, sd: number) => ({
    name,
    mean,
    sd,
    label: `${mean}`,
    note: 'note',
  });
  const spec = stageBars([bar('IO', 5000, 100), bar('SYNTHETIC', 300, 400)], {
    title: 'Title',
    finding: 'Finding',
    bottleneck: 'SYNTHETIC',
  });

  it('have bars from 0, whiskers of a standard deviation, and the bottleneck marked', () => {
    expect(layered(spec).data.values).toEqual([
      { name: 'IO', mean: 5000, low: 4900, high: 5100, label: '5000', note: 'note', bottleneck: false },
      { name: 'SYNTHETIC', mean: 300, low: 0, high: 700, label: '300', note: 'note', bottleneck: true },
    ]);
    expect(layered(spec).layer[0].encoding.x.scale.domain).toEqual([0, 6000]);
    expect(layered(spec).title.subtitle).toEqual(['Finding']);
  });

  it('compile without a warning', () => {
    expect(warningsOf(spec)).toEqual([]);
  });
});

describe('the stages over the values of a key', () => {
  const point = (stage: string, value: string, mean: number) => ({
    stage,
    value,
    mean,
    sd: 10,
    note: 'note',
  });
  const lines = (factor: number) =>
    stageLines({
      title: 'Title',
      finding: 'Finding',
      xTitle: 'runtime.intraOpThreads',
      values: ['1', '10', '2'],
      stages: ['IO', 'FULL'],
      points: ['1', '10', '2'].flatMap((value) => [
        point('IO', value, 300 * factor),
        point('FULL', value, 300),
      ]),
    });
  const scaleOf = (spec: ChartSpec) => layered(spec).layer[0].encoding.y.scale;

  it('stand in the order that was asked for, on an axis from 0', () => {
    const spec = lines(2);
    expect((layered(spec).layer[0].encoding.x as unknown as { sort: string[] }).sort).toEqual([
      '1',
      '10',
      '2',
    ]);
    expect(scaleOf(spec)).toEqual({ domain: [0, 700], nice: false });
    expect(layered(spec).data.values[0]).toMatchObject({ stage: 'IO', value: '1', low: 590, high: 610 });
  });

  it('share a logarithmic axis where they differ by an order of magnitude', () => {
    expect(scaleOf(lines(20))).toMatchObject({ type: 'log', domain: [150, 7813] });
  });

  it('compile without a warning', () => {
    expect([...warningsOf(lines(2)), ...warningsOf(lines(20))]).toEqual([]);
  });
});
