import { type ChartSpec, chart, niceTop, seriesStyle } from './theme.js';

const HEIGHT = 320;
const STEP = 110;
const LEAST_WIDTH = 420;
/** Above it the smaller series would be a line along the axis. */
const MOST_LINEAR_RATIO = 8;

/** Requests per second of one part at one value of the key. */
interface StagePoint {
  readonly stage: string;
  readonly value: string;
  readonly mean: number;
  readonly sd: number;
  readonly note: string;
}

interface StageLines {
  readonly title: string;
  readonly finding: string;
  /** What is varied. */
  readonly xTitle: string;
  /** In the order of the axis. */
  readonly values: readonly string[];
  /** In the order of the legend. */
  readonly stages: readonly string[];
  readonly points: readonly StagePoint[];
}

/**
 * Requests per second of each part over the values of a key, one line a part, with one standard deviation to each
 * side. Parts that differ by an order of magnitude share a logarithmic axis.
 */
export function stageLines({ title, finding, xTitle, values, stages, points }: StageLines): ChartSpec {
  const width = Math.max(LEAST_WIDTH, values.length * STEP);
  const means = points.map(({ mean }) => mean);
  const [least, most] = [Math.min(...means), Math.max(...means)];
  const isLog = most > MOST_LINEAR_RATIO * least;
  // On a logarithmic axis a whisker below 0 has no place: it ends where the axis does.
  const floor = isLog ? least / 2 : 0;
  const rows = points.map(({ stage, value, mean, sd, note }) => ({
    stage,
    value,
    mean,
    low: Math.max(floor, mean - sd),
    high: mean + sd,
    note,
  }));
  const top = Math.max(...rows.map(({ high }) => high));
  const x = {
    field: 'value',
    type: 'ordinal',
    sort: [...values],
    title: xTitle,
    axis: { labelAngle: 0, ticks: false, labelPadding: 8, grid: false },
    scale: { type: 'point', padding: 0.5 },
  };
  const y = {
    field: 'mean',
    type: 'quantitative',
    title: isLog ? 'requests/s (logarithmic)' : 'requests/s',
    scale: isLog
      ? { type: 'log', domain: [floor, top * 1.3], nice: false }
      : { domain: [0, niceTop(top)], nice: false },
    axis: { tickCount: 6, format: ',~r' },
  };
  const style = (part: 'color' | 'shape') => ({
    field: 'stage',
    type: 'nominal',
    sort: null,
    scale: { domain: [...stages], range: stages.map((_, rank) => seriesStyle(rank)[part]) },
    legend: { title: null, orient: 'top', symbolSize: 90, offset: 8, labelLimit: 0 },
  });
  const color = style('color');
  return chart(
    { title, subtitle: finding, width: width + 60 },
    {
      width,
      height: HEIGHT,
      data: { values: rows },
      layer: [
        // A layer each, since the dash would show in the symbols of the legend, too.
        ...stages.map((stage, rank) => ({
          transform: [{ filter: { field: 'stage', equal: stage } }],
          mark: { type: 'line', strokeWidth: 2, strokeDash: seriesStyle(rank).dash },
          encoding: { x, y, color },
        })),
        {
          mark: { type: 'rule', strokeWidth: 1.8 },
          encoding: { x, y: { ...y, field: 'low' }, y2: { field: 'high' }, color },
        },
        {
          mark: { type: 'point', filled: true, size: 74, opacity: 1 },
          encoding: { x, y, color, shape: style('shape'), tooltip: { field: 'note' } },
        },
      ],
    },
  );
}
