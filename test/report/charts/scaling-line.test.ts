import { parse, type Spec } from 'vega';
import { compile } from 'vega-lite';
import { describe, expect, it } from 'vitest';
import { type ScalingMark, scalingLine } from '../../../src/report/charts/scaling-line.js';
import type { ChartSpec } from '../../../src/report/charts/theme.js';

interface Layered {
  readonly layer: readonly {
    readonly mark: { readonly type: string; readonly strokeDash?: readonly number[] };
    readonly encoding: {
      readonly x?: Channel;
      readonly y: Channel;
      readonly y2?: { readonly field: string };
    };
  }[];
  readonly data: {
    readonly values: readonly (ScalingMark & { readonly low: number; readonly high: number })[];
  };
}
interface Channel {
  readonly field: string;
  readonly scale: { readonly type?: string; readonly domain: readonly number[] };
  readonly axis: { readonly values: readonly number[] };
}

function marks(gpus: readonly number[], isShare: boolean): ScalingMark[] {
  return gpus.map((count) => {
    const efficiency = 1 - 0.004 * count;
    const scale = isShare ? 1 : count;
    return {
      gpus: count,
      ideal: scale,
      mean: efficiency * scale,
      sd: 0.01 * scale,
      label: `${count}`,
      note: '',
    };
  });
}

function draw(gpus: readonly number[], isShare: boolean) {
  const points = marks(gpus, isShare);
  return scalingLine({ title: 't', finding: 'f', yTitle: 'y', isShare, points });
}

const layered = (spec: ChartSpec) => spec as unknown as Layered;

describe('scaling line', () => {
  it.each([
    [[1, 2, 4], false],
    [[1, 2, 4, 8, 64], false],
    [[1, 2, 4], true],
    [[1, 2, 4, 8, 64], true],
    [[3, 5], false],
  ] as const)('of %j GPUs (share: %s) compiles without a warning', (gpus, isShare) => {
    const warnings: string[] = [];
    const note = (...parts: readonly unknown[]) => {
      warnings.push(parts.join(' '));
      return logger;
    };
    const logger = { level: () => logger, error: note, warn: note, info: () => logger, debug: () => logger };
    parse(compile(draw(gpus, isShare) as never, { logger: logger as never }).spec as Spec);
    expect(warnings).toEqual([]);
  });

  it('has a dashed ideal line, points and whiskers of one standard deviation', () => {
    const { layer, data } = layered(draw([1, 2, 4], false));
    const dashed = layer.find(({ mark }) => mark.strokeDash !== undefined);
    expect(dashed?.encoding.y.field).toBe('ideal');
    const whisker = layer.find(({ mark }) => mark.type === 'rule');
    expect([whisker?.encoding.y.field, whisker?.encoding.y2?.field]).toEqual(['low', 'high']);
    const [, , four] = data.values;
    expect(four.low).toBeCloseTo(four.mean - four.sd, 12);
    expect(four.high).toBeCloseTo(four.mean + four.sd, 12);
  });

  it('is logarithmic where GPUs span much, so that the ideal stays a line', () => {
    const [few] = layered(draw([1, 2, 4], false)).layer;
    const [many] = layered(draw([1, 2, 4, 8, 64], false)).layer;
    expect([few.encoding.x?.scale.type, few.encoding.y.scale.type]).toEqual([undefined, undefined]);
    expect([many.encoding.x?.scale.type, many.encoding.y.scale.type]).toEqual(['log', 'log']);
    expect(many.encoding.x?.axis.values).toEqual([1, 2, 4, 8, 64]);
  });

  it('shows shares from 0 on, whatever the GPUs span', () => {
    const [, line] = layered(draw([1, 64], true)).layer.filter(({ mark }) => mark.type === 'line');
    expect(line.encoding.y.scale.domain[0]).toBe(0);
    expect(line.encoding.y.scale.type).toBeUndefined();
  });
});
