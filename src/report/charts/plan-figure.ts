import type { FigureUnit } from '../../record/figures.js';
import {
  ALERT,
  type ChartSpec,
  chart,
  INK,
  joined,
  labelledRule,
  numberScale,
  STRONG,
  WEAK,
} from './theme.js';

const WIDTH = 560;
const HEIGHT = 300;
/** Values of the key that span more than this factor get a logarithmic axis, since steps are often relative. */
const LOG_FACTOR_X = 10;
/** Figures that span more than this factor get a logarithmic axis if less is better. */
const LOG_FACTOR_Y = 20;

/** Values tried of one planned key, against one target. */
export interface PlanFigure {
  readonly unit: FigureUnit;
  readonly limit: number;
  /** True if more is better. */
  readonly atLeast: boolean;
  readonly title: string;
  /** The finding in words. */
  readonly subtitle: string;
  /** Title of the key, with its unit. */
  readonly xTitle: string;
  readonly yTitle: string;
  /** `target: attainment>=0.999`. */
  readonly limitLabel: string;
  /** By ascending x. */
  readonly points: readonly PlanPoint[];
  readonly answer: { readonly x: number; readonly label: string } | null;
  /** Points better than every point left of them, drawn as steps. */
  readonly frontier?: readonly PlanPoint[];
}

export interface PlanPoint {
  readonly x: number;
  readonly mean: number;
  /** 95 % confidence interval of the mean. */
  readonly low: number;
  readonly high: number;
  readonly meets: 'yes' | 'unsure' | 'no';
  /** Tooltip. */
  readonly note: string;
}

/** Color, shape and legend text of each verdict. */
const VERDICTS = {
  yes: { name: 'meets', color: STRONG, shape: 'circle' },
  unsure: { name: 'meets only on average', color: '#8a6100', shape: 'diamond' },
  no: { name: 'misses', color: ALERT, shape: 'cross' },
} as const;

/**
 * A figure at each value that a plan tried, with 95 % confidence bars, a rule at the target and a mark at the answer.
 */
export function planFigure(figure: PlanFigure): ChartSpec {
  const { points, answer, limit } = figure;
  const across = numberScale(
    points.map(({ x }) => x),
    LOG_FACTOR_X,
  );
  const { place, scale, axis, note } = scaleY(figure);
  const x = {
    field: 'x',
    type: 'quantitative',
    title: figure.xTitle,
    scale: across.scale,
    // Prices are rarely round numbers.
    axis: figure.frontier === undefined ? across.axis : { grid: false, tickCount: 8 },
  };
  const y = { field: 'y', type: 'quantitative', title: figure.yTitle, scale, axis };
  const rows = points.map((point) => ({
    x: point.x,
    y: place(point.mean),
    low: place(point.low),
    high: place(point.high),
    verdict: VERDICTS[point.meets].name,
    note: point.note,
  }));
  const shown = Object.values(VERDICTS).filter(({ name }) => rows.some(({ verdict }) => verdict === name));
  const names = shown.map(({ name }) => name);
  const legend = {
    orient: 'bottom',
    title: null,
    direction: 'horizontal',
    symbolSize: 70,
    labelLimit: 0,
    offset: 4,
  };
  const style = (part: 'color' | 'shape') => ({
    field: 'verdict',
    type: 'nominal',
    legend,
    scale: { domain: names, range: shown.map((verdict) => verdict[part]) },
  });
  const steps = (figure.frontier ?? []).map(({ x, mean }) => ({ x, y: place(mean) }));
  const heading = {
    title: figure.title,
    subtitle: joined(figure.subtitle, note),
    width: WIDTH + 60,
    fluid: true,
  };
  return chart(heading, {
    width: WIDTH,
    height: HEIGHT,
    layer: [
      ...limitRule(place(limit), figure, y),
      ...(answer === null ? [] : answerRule(answer, x)),
      ...(steps.length < 2 ? [] : [frontierLine(steps, { x, y })]),
      {
        data: { values: rows },
        mark: { type: 'rule', strokeWidth: 1.8 },
        encoding: { x, y: { ...y, field: 'low' }, y2: { field: 'high' }, color: style('color') },
      },
      {
        data: { values: rows },
        mark: { type: 'point', filled: true, size: 74, opacity: 1 },
        encoding: { x, y, color: style('color'), shape: style('shape'), tooltip: { field: 'note' } },
      },
    ],
  });
}

/** Vega-Lite's scale and axis, where it draws a figure, and a note on an axis that is not linear. */
function scaleY({ unit, atLeast, limit, points }: PlanFigure) {
  const values = [limit, ...points.flatMap(({ low, mean, high }) => [low, mean, high])];
  const labels =
    unit === 'share' ? { labelExpr: "format(100 * datum.value, '.6~f') + ' %'" } : { format: ',~f' };
  const axis = { grid: true, tickCount: 6, ...labels };
  const positive = values.filter((value) => value > 0);
  const [least, most] = [Math.min(...positive), Math.max(...positive)];
  if (atLeast || positive.length === 0 || most / least <= LOG_FACTOR_Y)
    // Shares near 1 differ too little to begin at 0.
    return { place: (value: number) => value, scale: { zero: unit !== 'share' }, axis, note: '' };
  // Values below a millionth of the largest are merged with 0.
  const floor = Math.max(least, most / 1e6);
  return {
    place: (value: number) => Math.max(value, floor),
    scale: { type: 'log', domain: [floor / 1.2, most * 1.2], nice: false },
    axis,
    note: 'the axis is logarithmic',
  };
}

/** Rule with its label at the right, where the values that meet the target are. */
function limitRule(at: number, { limitLabel: text, atLeast }: PlanFigure, y: object) {
  const side = atLeast ? { baseline: 'bottom', dy: -4 } : { baseline: 'top', dy: 5 };
  const rule = { strokeDash: [5, 3], color: INK, strokeWidth: 1.4 };
  return labelledRule({ y }, { y: at }, rule, { align: 'left', x: 4, ...side, text });
}

function answerRule({ x: at, label }: { x: number; label: string }, x: object) {
  // Above the plot, where no line crosses it.
  const above = { baseline: 'bottom', y: -4, color: STRONG, text: label };
  return labelledRule({ x }, { x: at }, { color: WEAK, strokeWidth: 8, opacity: 0.45 }, above);
}

function frontierLine(steps: readonly object[], encoding: object) {
  const mark = { type: 'line', interpolate: 'step-after', color: INK, strokeWidth: 1.2, opacity: 0.6 };
  return { data: { values: steps }, mark, encoding };
}
