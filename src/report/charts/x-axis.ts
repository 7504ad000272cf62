import { textWidth } from '../../text/text-width.js';
import type { AxisValue } from '../study/axes.js';
import type { Point } from '../study/points.js';
import type { Slice } from '../study/slices.js';
import { MUTED } from './theme.js';

const LABEL_SIZE = 12;
/** Gap between the labels next to the axis, px. */
const GAP = 18;

/** A numeric axis x of a slice, and to the right of its numbers the points without one. */
export interface AcrossNumbers {
  /** Width of the plot, px: the requested width for the numbers, plus the points off the axis. */
  readonly width: number;
  readonly encoding: object;
  /** Position of a point. */
  at(point: Point): number;
  /** Labels under the points off the axis, and a line between them and the numbers. */
  readonly marks: readonly object[];
}

/** Lays out a slice whose key x is a number. */
export function acrossNumbers(
  { x, points, offAxis }: Slice,
  numbersWidth: number,
  height: number,
): AcrossNumbers {
  const numbers = x.values.filter(({ isWord }) => !isWord);
  const { type, domain } = xScale(numbers);
  const logarithmic = type === 'log';
  const [low, high] = domain;
  const atPx = (px: number) =>
    logarithmic ? low * (high / low) ** (px / numbersWidth) : low + ((high - low) * px) / numbersWidth;
  const begin = points.length === 0 ? 0 : numbersWidth;
  let px = begin;
  const places = offAxis.map(({ label, points: members }) => {
    const half = (textWidth(label, LABEL_SIZE) + GAP) / 2;
    const center = px + half;
    px += 2 * half;
    return { label, members, center };
  });
  const position = new Map(numbers.map(({ text, at }) => [text, at]));
  const offAxisPosition = new Map(
    places.flatMap(({ members, center }) => members.map((point) => [point, atPx(center)])),
  );
  const fixedAt = (x1: number, y1: number) => ({ x: { value: x1 }, y: { value: y1 } });
  const line = {
    data: { values: [{}] },
    mark: { type: 'rule', color: MUTED, strokeWidth: 1, opacity: 0.5 },
    encoding: { ...fixedAt(begin, 0), y2: { value: height } },
  };
  const labels = places.map(({ label, center }) => ({
    data: { values: [{}] },
    mark: { type: 'text', baseline: 'top', text: label, fontSize: LABEL_SIZE },
    encoding: fixedAt(center, height + 7),
  }));
  return {
    width: Math.round(px),
    encoding: {
      field: 'x',
      type: 'quantitative',
      title: points.length === 0 ? null : x.title,
      scale: { type, domain: [low, atPx(px)], nice: false, ...(logarithmic ? {} : { zero: false }) },
      axis: points.length === 0 ? { grid: false, values: [] } : xAxis(numbers),
    },
    at: (point) => offAxisPosition.get(point) ?? position.get(point.values[x.key] ?? '') ?? low,
    marks: offAxis.length === 0 ? [] : [line, ...labels],
  };
}

/** Values that span more than a factor of 20 read best on a logarithmic axis. */
function xScale(values: readonly AxisValue[]): { type: 'log' | 'linear'; domain: [number, number] } {
  const [low, high] = rangeOf(values);
  const logarithmic = low > 0 && high / low > 20;
  const pad = logarithmic ? (high / low) ** 0.02 : (high - low) * 0.02 || 1;
  return {
    type: logarithmic ? 'log' : 'linear',
    domain: logarithmic ? [low / pad, high * pad] : [low - pad, high + pad],
  };
}

/** A tick at each value if they are few. */
function xAxis(values: readonly AxisValue[]) {
  const [, high] = rangeOf(values);
  const few = values.length <= 12 ? { values: values.map(({ at }) => at) } : {};
  return {
    grid: false,
    labelOverlap: 'greedy',
    format: '~f',
    // Beyond the numbers there are words.
    labelExpr: `datum.value <= ${high} ? datum.label : ''`,
    ...few,
  };
}

/** The lowest and the highest value. */
export function rangeOf(values: readonly AxisValue[]): [number, number] {
  return [Math.min(...values.map(({ at }) => at)), Math.max(...values.map(({ at }) => at))];
}
