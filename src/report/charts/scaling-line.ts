import { type ChartSpec, chart, INK, MUTED, STRONG } from './theme.js';

const WIDTH = 560;
const HEIGHT = 340;
/** Air around the outermost points, as a factor of the number of GPUs. */
const AIR = 1.18;
/** Up to this ratio of the most and the fewest GPUs the axes are linear. */
const MOST_LINEAR_RATIO = 4;

/** What was reached with a number of GPUs. */
export interface ScalingMark {
  readonly gpus: number;
  readonly ideal: number;
  /** With its standard deviation. */
  readonly mean: number;
  readonly sd: number;
  /** Next to the mark. */
  readonly label: string;
  readonly note: string;
}

interface ScalingLine {
  readonly title: string;
  readonly finding: string;
  readonly yTitle: string;
  /** The values are shares of one, on a linear axis from 0; otherwise they grow with the GPUs. */
  readonly isShare: boolean;
  /** By number of GPUs. */
  readonly points: readonly ScalingMark[];
}

/** Measured points with one standard deviation to each side, and the line on which they would lie without losses. */
export function scalingLine({ title, finding, yTitle, isShare, points }: ScalingLine): ChartSpec {
  const counts = points.map(({ gpus }) => gpus);
  const [fewest, most] = [counts[0], counts[counts.length - 1]];
  const isLog = most > MOST_LINEAR_RATIO * fewest;
  const rows = points.map((point) => ({
    ...point,
    low: point.mean - point.sd,
    high: point.mean + point.sd,
  }));
  const x = {
    field: 'gpus',
    type: 'quantitative',
    title: isLog ? 'GPUs (logarithmic)' : 'GPUs',
    scale: isLog
      ? { type: 'log', base: 2, domain: [fewest / AIR, most * AIR], nice: false }
      : {
          domain: [fewest - 0.06 * (most - fewest), most + 0.06 * (most - fewest)],
          nice: false,
          zero: false,
        },
    axis: { values: counts, grid: false, format: 'd', labelOverlap: 'greedy' },
  };
  const y = { field: 'mean', type: 'quantitative', title: yTitle, ...yScale(points, isShare, isLog) };
  const offset = isShare ? { dy: 16 } : { dx: 12, dy: 12, align: 'left' };
  const idealPlace = isShare ? { align: 'left', x: WIDTH + 8 } : { align: 'right', dx: -14, dy: -10 };
  return chart(
    { title, subtitle: finding, width: WIDTH + 60 },
    {
      width: WIDTH,
      height: HEIGHT,
      data: { values: rows },
      layer: [
        {
          mark: { type: 'line', color: MUTED, strokeWidth: 1.6, strokeDash: [6, 4] },
          encoding: { x, y: { ...y, field: 'ideal' } },
        },
        {
          transform: [{ filter: `datum.gpus === ${most}` }],
          mark: { type: 'text', text: 'ideal', color: MUTED, ...idealPlace },
          encoding: { ...(isShare ? {} : { x }), y: { ...y, field: 'ideal' } },
        },
        { mark: { type: 'line', color: STRONG, strokeWidth: 2.2 }, encoding: { x, y } },
        {
          mark: { type: 'rule', color: STRONG, strokeWidth: 2 },
          encoding: { x, y: { ...y, field: 'low' }, y2: { field: 'high' } },
        },
        {
          mark: { type: 'point', filled: true, size: 74, opacity: 1, color: STRONG },
          encoding: { x, y, tooltip: { field: 'note' } },
        },
        {
          mark: { type: 'text', color: INK, fontSize: 12, ...offset },
          encoding: { x, y: isShare ? { ...y, field: 'low' } : y, text: { field: 'label' } },
        },
      ],
    },
  );
}

function yScale(points: readonly ScalingMark[], isShare: boolean, isLog: boolean): object {
  const top = Math.max(...points.flatMap(({ ideal, mean, sd }) => [ideal, mean + sd]));
  if (isShare) {
    return {
      scale: { domain: [0, 1.08 * top], nice: false },
      axis: { values: [0, 0.25, 0.5, 0.75, 0.9, 1], labelExpr: "format(100 * datum.value, 'd') + ' %'" },
    };
  }
  const ticks = points.map(({ ideal }) => ideal);
  if (!isLog)
    return { scale: { domain: [0, 1.08 * top], nice: false }, axis: { values: ticks, format: '~r' } };
  const least = Math.min(...points.flatMap(({ ideal, mean, sd }) => [ideal, Math.max(mean - sd, mean / 2)]));
  return {
    scale: { type: 'log', base: 2, domain: [least / AIR ** 3, top * AIR], nice: false },
    axis: { values: ticks, format: '~r' },
  };
}
