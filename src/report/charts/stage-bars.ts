import { type ChartSpec, chart, INK, MUTED, niceTop, STRONG, WEAK } from './theme.js';

const WIDTH = 470;
const ROW = 58;

/** One part of a pipeline, measured by itself. */
interface StageBar {
  readonly name: string;
  /** Mean requests per second, and the standard deviation of the trials. */
  readonly mean: number;
  readonly sd: number;
  /** The figures as text. */
  readonly label: string;
  readonly note: string;
}

/** Requests per second of each part, the bottleneck in colour, with a whisker of one standard deviation to each side. */
export function stageBars(
  bars: readonly StageBar[],
  { title, finding, bottleneck }: { title: string; finding: string; bottleneck: string | null },
): ChartSpec {
  const rows = bars.map(({ name, mean, sd, label, note }) => ({
    name,
    mean,
    low: Math.max(0, mean - sd),
    high: mean + sd,
    label,
    note,
    bottleneck: name === bottleneck,
  }));
  const y = {
    field: 'name',
    type: 'nominal',
    sort: rows.map(({ name }) => name),
    title: null,
    axis: { domain: false, ticks: false, labelPadding: 8, labelLimit: 200 },
  };
  const x = {
    field: 'mean',
    type: 'quantitative',
    title: 'requests/s',
    scale: { domain: [0, niceTop(Math.max(...rows.map(({ high }) => high)))], nice: false },
    axis: { tickCount: 5 },
  };
  const label = { type: 'text', align: 'left', x: WIDTH + 12 };
  return chart(
    { title, subtitle: finding, width: WIDTH + 320 },
    {
      width: WIDTH,
      height: { step: ROW },
      data: { values: rows },
      layer: [
        {
          mark: { type: 'bar', height: 26, stroke: INK, strokeWidth: 1 },
          encoding: {
            y,
            x,
            color: { condition: { test: 'datum.bottleneck', value: STRONG }, value: WEAK },
            tooltip: { field: 'note' },
          },
        },
        {
          mark: { type: 'rule', color: INK, strokeWidth: 1.6 },
          encoding: { y, x: { ...x, field: 'low' }, x2: { field: 'high' } },
        },
        {
          mark: { ...label, dy: -8, fontWeight: 600 },
          encoding: { y, text: { field: 'label' } },
        },
        {
          mark: { ...label, dy: 8, fontSize: 11.5, color: MUTED },
          encoding: { y, text: { field: 'note' } },
        },
      ],
    },
  );
}
