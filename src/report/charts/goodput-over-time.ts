import type { DrawnRun } from '../../record/results.js';
import { formatPercent, formatRate } from '../../text/numbers.js';
import { endLabels, seriesScale } from './end-labels.js';
import { type ChartSpec, chart, niceTop, ZOOM_TIME } from './theme.js';
import { binsPerPoint, endOf, formatSeconds, ratePoints, timeAxis, timeUnit } from './time-bins.js';

const WIDTH = 540;
const HEIGHT = 300;
/** Lines that cross at every point are indistinguishable. */
const MAX_POINTS = 80;

interface GoodputLine {
  readonly name: string;
  readonly run: Pick<DrawnRun, 'series' | 'summary'>;
}

/** Goodput of several runs over time, one line each. */
export function goodputOverTime(lines: readonly GoodputLine[]): ChartSpec {
  const names = lines.map(({ name }) => name);
  const series = lines.map(({ run }) => run.series);
  const begin = Math.min(...series.map(({ beginSeconds }) => beginSeconds));
  const end = Math.max(...series.map(endOf));
  const unit = timeUnit(end);
  const points = lines.map(({ name, run }) =>
    ratePoints(run.series, 'goodputRps', binsPerPoint(run.series, MAX_POINTS), unit).map((point) => ({
      name,
      ...point,
    })),
  );
  const top = niceTop(Math.max(...points.flat().map(({ rps }) => rps)));
  const widths = new Set(series.map((one) => formatSeconds(one.binSeconds * binsPerPoint(one, MAX_POINTS))));
  const style = (part: 'color' | 'dash') => {
    return { field: 'name', type: 'nominal', sort: null, legend: null, scale: seriesScale(names, part) };
  };
  return chart(
    {
      title: 'Goodput over time',
      subtitle: [...lines.map(describe), `bins of ${[...widths].join(' and ')}`].join(' · '),
      width: WIDTH + 190,
    },
    {
      width: WIDTH,
      height: HEIGHT,
      layer: [
        {
          data: { values: points.flat() },
          params: [ZOOM_TIME],
          mark: { type: 'line', strokeWidth: 2, clip: true },
          encoding: {
            x: timeAxis(unit, begin, end),
            y: {
              field: 'rps',
              type: 'quantitative',
              title: 'answers within their SLO/s',
              scale: { domain: [0, top], nice: false },
              axis: { format: ',~f', tickCount: 7 },
            },
            color: style('color'),
            strokeDash: style('dash'),
          },
        },
        ...endLabels({
          names,
          ends: points.map((line) => (line.length === 0 ? null : line[line.length - 1]!.rps / top)),
          title: '',
          marks: false,
          width: WIDTH,
          height: HEIGHT,
        }),
      ],
    },
  );
}

function describe({ name, run: { summary } }: GoodputLine): string {
  return `${name}: ${formatRate(summary.goodputRps)} req/s in time (${formatPercent(summary.attainment)})`;
}
