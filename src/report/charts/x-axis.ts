import { textWidth } from '../../text/text-width.js';
import type { AxisValue } from '../study/axes.js';
import type { Point } from '../study/points.js';
import type { Slice } from '../study/slices.js';
import { MUTED } from './theme.js';

const LABEL_SIZE = 12;
/** Gap between the labels next to the axis, px. */
const GAP = 18;

/** A numeric x axis of a slice, with the points off the axis to its right. */
export interface AcrossNumbers {
  /** Width of the plot, px: the requested width for the numbers, plus the points off the axis. */
  readonly width: number;
  readonly encoding: object;
  /** Position of a point. */
  at(point: Point): number;
  /** Labels under the points off the axis, and a line that separates them from the numbers. */
  readonly marks: readonly object[];
}

/** Lays out a slice whose key x is a number. */
export function acrossNumbers(
  { x, points, offAxis }: Slice,
  numbersWidth: number,
  height: number,
): AcrossNumbers {
  const numbers = x.values.filter(({ isWord }) => !isWord);
  const { isLog, scale, axis, domain } = numberScale(numbers.map(({ at }) => at));
  const [low, high] = domain;
  // Labels beyond the numbers are words.
  const labelExpr = `datum.value <= ${rangeOf(numbers)[1]} ? datum.label : ''`;
  const atPx = (px: number) =>
    isLog ? low * (high / low) ** (px / numbersWidth) : low + ((high - low) * px) / numbersWidth;
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
      scale: { ...scale, domain: [low, atPx(px)] },
      axis: points.length === 0 ? { grid: false, values: [] } : { ...axis, labelExpr },
    },
    at: (point) => offAxisPosition.get(point) ?? position.get(point.values[x.key] ?? '') ?? low,
    marks: offAxis.length === 0 ? [] : [line, ...labels],
  };
}

/** Values that span more than this factor get a logarithmic axis. */
const LOG_FACTOR = 20;
/** Margin around the outermost marks, as a share of the axis. */
const AIR = 0.02;
/** Largest number of values that get a tick each. */
const MOST_TICKS = 12;

/** Scale and axis for some values along x. */
export function numberScale(values: readonly number[], logFactor = LOG_FACTOR) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const isLog = low > 0 && high / low >= logFactor;
  const air = isLog ? (high / low) ** AIR : (high - low) * AIR || 1;
  return {
    isLog,
    domain: isLog ? ([low / air, high * air] as const) : ([low - air, high + air] as const),
    scale: { type: isLog ? 'log' : 'linear', nice: false, ...(isLog ? {} : { zero: false }) },
    axis: {
      grid: false,
      labelOverlap: 'greedy',
      labelSeparation: 6,
      format: '~f',
      ...(values.length <= MOST_TICKS ? { values } : { tickCount: 8 }),
    },
  };
}

/** The lowest and the highest value. */
export function rangeOf(values: readonly AxisValue[]): [number, number] {
  return [Math.min(...values.map(({ at }) => at)), Math.max(...values.map(({ at }) => at))];
}
