import uPlot from 'uplot';
import { onColors } from '../timeline/paint.js';

/** A chart of columns: x, then one for each of its lines; null is a gap. */
export interface SeriesChart {
  draw(columns: readonly (readonly (number | null)[])[]): void;
  destroy(): void;
}

const HEIGHT_PX = 200;
/** Half the width of the last label. */
const RIGHT_PX = 28;

/** A line of a chart, distinguished by more than its color. */
export interface Line {
  readonly label: string;
  /** A variable of the page's style. */
  readonly color: string;
  /** Alternating lengths drawn and left out, px. */
  readonly dash?: number[];
}

export type ChartMaker = (box: HTMLElement) => SeriesChart;

/** Requests per second over seconds. */
export function rateChart(lines: readonly Line[]): ChartMaker {
  return (box) =>
    chartIn(box, (ink) => ({
      scales: { x: { time: false }, y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
      axes: [axis(ink, 's'), axis(ink, '/s')],
      series: [{ label: 'time' }, ...series(lines, ink)],
    }));
}

/** Distribution of latencies: percent of requests over ms. */
export function latencyChart(lines: readonly Line[]): ChartMaker {
  return (box) =>
    chartIn(box, (ink) => ({
      scales: { x: { time: false, distr: 3 }, y: { range: [0, 100] } },
      axes: [axis(ink, 'ms'), axis(ink, '%')],
      series: [{ label: 'ms' }, ...series(lines, ink)],
    }));
}

type Ink = (variable: string) => string;
type Look = Pick<uPlot.Options, 'scales' | 'axes' | 'series'>;

function series(lines: readonly Line[], ink: Ink): uPlot.Series[] {
  return lines.map(({ label, color, dash }) => ({
    label,
    stroke: ink(color),
    width: 2,
    points: { show: false },
    ...(dash === undefined ? {} : { dash }),
  }));
}

function axis(ink: Ink, unit: string): uPlot.Axis {
  return {
    stroke: ink('--muted'),
    grid: { stroke: ink('--line') },
    ticks: { stroke: ink('--line') },
    values: (_, values) => values.map((value) => (value === null ? '' : `${value}\u202f${unit}`)),
    size: 55,
  };
}

/** A chart as wide as its box, in the colors of the page, which may switch between light and dark. */
function chartIn(box: HTMLElement, look: (ink: Ink) => Look): SeriesChart {
  let columns: uPlot.AlignedData = [[], [], []];
  const make = () => {
    const style = getComputedStyle(box);
    const { series, ...rest } = look((variable) => style.getPropertyValue(variable));
    const size = { width: box.clientWidth, height: HEIGHT_PX };
    columns = series.map((_, i) => columns[i] ?? []) as unknown as uPlot.AlignedData;
    return new uPlot(
      { ...size, ...rest, series, legend: { live: false }, padding: [null, RIGHT_PX, null, null] },
      columns,
      box,
    );
  };
  let chart = make();
  const renew = () => {
    chart.destroy();
    chart = make();
  };
  const ignoreColors = onColors(renew);
  const resized = new ResizeObserver(() => chart.setSize({ width: box.clientWidth, height: HEIGHT_PX }));
  resized.observe(box);
  return {
    draw(next) {
      columns = next as unknown as uPlot.AlignedData;
      chart.setData(columns);
    },
    destroy() {
      ignoreColors();
      resized.disconnect();
      chart.destroy();
    },
  };
}
