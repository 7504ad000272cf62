import type { FigureUnit } from '../../record/figures.js';
import { significant } from '../../text/numbers.js';

/** Shares from here on are drawn by their number of nines: 99 %, 99.9 %, 99.99 %. */
const NINES_FROM = 0.9;
/** Figures that span more than this factor get a logarithmic axis. */
const LOG_FACTOR = 20;

/** A mean at a value of the key. */
export interface ScaledPoint {
  readonly x: number;
  readonly mean: number;
  /** 95 % confidence interval of the mean. */
  readonly low: number;
  readonly high: number;
}

/** Inputs of a figure's scale. */
export interface ScaledFigure {
  readonly unit: FigureUnit;
  readonly limit: number;
  /** True if more is better. */
  readonly atLeast: boolean;
  /** By ascending x. */
  readonly points: readonly ScaledPoint[];
}

/** Vega-Lite's scale and axis. */
interface ScaleY {
  readonly scale: object;
  readonly axis: object;
  /** Position of a figure, in the numbers of the domain. */
  place(value: number): number;
  /** Note on an axis that is not linear; else empty. */
  readonly note: string;
}

/**
 * A scale on which a figure is readable both near its target and far from it: by the number of nines for shares near 1,
 * logarithmic for a wide range of a figure that should be small, else linear.
 */
export function planScaleY({ unit, atLeast, limit, points }: ScaledFigure): ScaleY {
  const values = [limit, ...points.flatMap(({ low, mean, high }) => [low, mean, high])];
  if (unit === 'share' && atLeast && limit >= NINES_FROM && limit < 1) return ninesScale(values);
  const positive = values.filter((value) => value > 0);
  const [least, most] = [Math.min(...positive), Math.max(...positive)];
  if (atLeast || positive.length === 0 || most / least <= LOG_FACTOR) {
    return linearScale(unit, positive.length === 0 ? 1 : most);
  }
  // Values below a millionth of the largest are merged with 0.
  const floor = Math.max(least, most / 1e6);
  return logScale([floor / 1.2, most * 1.2], { grid: true, tickCount: 6, ...labels(unit) }, floor);
}

function linearScale(unit: FigureUnit, most: number): ScaleY {
  const top = unit === 'share' ? Math.max(most, Math.min(1, most * 1.05)) : most * 1.05;
  return {
    note: '',
    place: (value) => value,
    scale: { domain: [0, top], nice: false },
    axis: { grid: true, tickCount: 6, ...labels(unit) },
  };
}

/** The missing share, on a reversed logarithmic axis, with none missing at the top. */
function ninesScale(values: readonly number[]): ScaleY {
  // 1 - 0.99 is a little above 0.01.
  const missing = values.map((value) => significant(1 - value, 12));
  const some = missing.filter((share) => share > 0);
  const [least, most] = [Math.min(...some), Math.max(...some)];
  const withAll = missing.some((share) => share <= 0);
  const floor = withAll ? 10 ** Math.floor(Math.log10(least / 1.5)) : least / 1.15;
  const top = Math.min(1, most * 1.15);
  const decades = Array.from({ length: Math.ceil(-Math.log10(floor)) + 1 }, (_, i) => Number(`1e-${i}`));
  const between = top / floor < 200 ? [5, 2] : [];
  const ticks = [...decades, 0.5, ...between.flatMap((digit) => decades.map((power) => digit * power))];
  const scale = logScale(
    [floor, top],
    {
      grid: true,
      values: [...ticks, ...(withAll ? [floor] : [])].filter((share) => share <= top && share >= floor),
      labelExpr: `${withAll} && datum.value <= ${floor * 1.001} ? '100 %' : format(100 * (1 - datum.value), '.6~f') + ' %'`,
    },
    floor,
  );
  return {
    ...scale,
    note: 'the axis is stretched near 100 %',
    place: (value) => scale.place(1 - value),
    scale: { ...scale.scale, reverse: true },
  };
}

/** Values below `floor` are drawn at it. */
function logScale(domain: readonly [number, number], axis: object, floor: number): ScaleY {
  return {
    note: 'the axis is logarithmic',
    place: (value) => Math.max(value, floor),
    scale: { type: 'log', domain, nice: false },
    axis,
  };
}

function labels(unit: FigureUnit) {
  return unit === 'share' ? { labelExpr: "format(100 * datum.value, '.6~f') + ' %'" } : { format: ',~f' };
}
