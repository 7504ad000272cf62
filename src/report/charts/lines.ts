import { present } from '../lists.js';
import type { Estimate } from '../statistics.js';
import { INK, labelledRule, numberScale, seriesEncoding, seriesStyles } from './theme.js';

/** A figure with its interval at a place along x. */
interface LinePoint {
  /** Place on an axis of numbers; null: it has only a name there. */
  readonly at: number | null;
  /** Place on an axis of names. */
  readonly name: string;
  /** Name of its line. */
  readonly series: string;
  /** Null: a gap. */
  readonly figure: Pick<Estimate, 'mean' | 'low' | 'high'> | null;
  /** Tooltip. */
  readonly note: string;
  readonly isRinged?: boolean;
}

/** A rule across a plot, with its label. */
interface Rule {
  readonly at: { readonly x: number } | { readonly y: number };
  readonly text: string;
  readonly rule: object;
  readonly label: object;
}

/** A plot of figures along one axis, a line per series. */
interface LinesPanel {
  readonly width: number;
  readonly height: number;
  readonly x: {
    /** Title of an axis of names, and of one of numbers, with the unit. */
    readonly label: string;
    readonly title: string | null;
    /** Names that come first, in this order. */
    readonly names: readonly string[];
    /** Values that span more than this factor get a logarithmic axis. */
    readonly logFactor?: number;
  };
  /** Title, scale and axis. */
  readonly y: object;
  readonly points: readonly LinePoint[];
  readonly series: {
    readonly names: readonly string[];
    readonly title?: string | null;
    readonly styles?: readonly { readonly color: string; readonly dash: number[]; readonly shape: string }[];
  };
  readonly rules?: readonly Rule[];
  /** False: points only. */
  readonly joins?: boolean;
}

/** Smallest distance of the marks of two series at one name, px. */
const MARK = 24;
/** Width of a character of a label, px. */
const CHARACTER = 6.4;

/**
 * Draws figures with 95 % confidence bars. Lines join numbers only. Numbers have a proportional axis; names, also next
 * to numbers, such as `auto` or a policy without the key along x, are evenly spaced.
 */
export function linesPanel({ x, y: yAxis, points, series, rules = [], joins = true, ...size }: LinesPanel) {
  const isProportional = points.every(({ at }) => at !== null);
  const hasLines = joins && points.some(({ at }) => at !== null);
  const labels = [...new Set([...x.names, ...points.map(({ name }) => name)])];
  const rows = points.map(({ at, name, figure, isRinged = false, ...rest }) => {
    const { mean: value = null, low = null, high = null } = figure ?? {};
    return { ...rest, x: isProportional ? at : name, isNumber: at !== null, isRinged, value, low, high };
  });
  const known = rows.filter(({ value }) => value !== null);
  const hasIntervals = known.some(({ low, high }) => low !== high);
  const width = isProportional || hasLines ? size.width : Math.max(size.width, 2 * MARK * labels.length);
  const numbers = points.flatMap(({ at }) => at ?? []);
  const across = {
    field: 'x',
    ...(isProportional
      ? { type: 'quantitative', title: x.title, ...numberScale([...new Set(numbers)], x.logFactor) }
      : { type: 'nominal', title: x.label, sort: labels, axis: nameLabels(labels, width) }),
  };
  // At each name, several series are side by side.
  const xOffset = { field: 'series', type: 'nominal', sort: series.names, scale: { paddingOuter: 1 } };
  const isDodged = !isProportional && !hasLines && series.names.length > 1;
  const place = { x: across, ...(isDodged ? { xOffset } : {}) };
  const y = { field: 'value', type: 'quantitative', ...yAxis };
  const { names, styles = seriesStyles(names), title = null } = series;
  const style = seriesEncoding('series', names, styles, { title });
  const layer = present<object>(
    ...rules.flatMap(({ at, text, rule, label }) =>
      'x' in at
        ? labelledRule({ x: across }, at, rule, { ...label, text })
        : labelledRule({ y }, { value: at.y }, rule, { ...label, text }),
    ),
    hasIntervals && {
      data: { values: known },
      mark: { type: 'rule', strokeWidth: 1.4 },
      encoding: { ...place, y: { ...y, field: 'low' }, y2: { field: 'high' }, color: style('color') },
    },
    hasLines && {
      data: { values: rows.filter(({ isNumber }) => isNumber) },
      mark: { type: 'line', strokeWidth: 2.2 },
      encoding: { x: across, y, color: style('color'), strokeDash: style('dash') },
    },
    {
      data: { values: known },
      mark: { type: 'point', filled: true, size: 62, opacity: 1 },
      encoding: { ...place, y, color: style('color'), shape: style('shape'), tooltip: { field: 'note' } },
    },
    known.some(({ isRinged }) => isRinged) && {
      data: { values: known.filter(({ isRinged }) => isRinged) },
      mark: {
        type: 'point',
        filled: false,
        shape: 'circle',
        size: 230,
        strokeWidth: 1.6,
        color: INK,
        opacity: 1,
      },
      encoding: { ...place, y },
    },
  );
  return { spec: { width, height: size.height, layer }, width, hasIntervals, isEmpty: known.length === 0 };
}

/** Several panels side by side, each under its title, with one legend. */
export function panelGrid(
  panels: readonly { readonly title: string; readonly spec: object }[],
  columns: number,
): object {
  const concat = panels.map(({ title, spec }) => ({
    title: { text: title, anchor: 'start', fontSize: 13, offset: 8 },
    ...spec,
  }));
  const shared = { color: 'shared', shape: 'shared', strokeDash: 'shared' };
  return { columns, spacing: 34, concat, resolve: { scale: shared, legend: shared } };
}

/** Angle of the names along an axis: horizontal if all fit, else slanted. */
function nameLabels(labels: readonly string[], width: number) {
  const longest = Math.max(0, ...labels.map((label) => label.length));
  return longest * CHARACTER <= width / Math.max(1, labels.length)
    ? { labelAngle: 0 }
    : { labelAngle: -35, labelAlign: 'right', labelBaseline: 'top' };
}
