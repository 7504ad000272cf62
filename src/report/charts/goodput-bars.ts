import { formatRate, significant } from '../../text/numbers.js';
import { valuesLabel } from '../quantity.js';
import { headline, type Recommendation } from '../study/analyze.js';
import { goodputFinding } from '../study/finding.js';
import { ratedPoints } from '../study/points.js';
import { allPoints, namesAlongX, type Slice } from '../study/slices.js';
import { goodputWords } from './goodput-words.js';
import { nameLabels } from './name-labels.js';
import { type ChartSpec, chart, INK, MUTED, niceTop } from './theme.js';

const HEIGHT = 300;
const BAR_WIDTH = 46;

/**
 * Goodput (by weight, if requests have classes) for each value of a non-numeric key (e.g. a policy), one bar per
 * series, shaded from light to dark, with 95 % confidence intervals if there are several seeds.
 */
export function goodputBars(slice: Slice, recommendations: readonly Recommendation[]): ChartSpec {
  const { x, series } = slice;
  const points = ratedPoints(allPoints(slice));
  const { title, axis, unit } = goodputWords(points);
  const names = series?.values.map(({ label }) => label) ?? [x.label];
  const labelOf = new Map(series?.values.map(({ text, label }) => [text, label]));
  const along = namesAlongX(slice);
  const rows = points.map((point) => ({
    x: along.of(point),
    series: series === null ? x.label : (labelOf.get(point.values[series.key] ?? '') ?? ''),
    goodput: point.weightedGoodputRps.mean,
    low: Math.max(0, point.weightedGoodputRps.low),
    high: point.weightedGoodputRps.high,
    label: formatRate(significant(point.weightedGoodputRps.mean, 3)),
    note: `${valuesLabel(point.values)}: ${formatRate(point.weightedGoodputRps.mean)} ${unit}`,
  }));
  const several = points.some(({ weightedGoodputRps }) => weightedGoodputRps.over !== null);
  const width = Math.max(420, rows.length * BAR_WIDTH + along.labels.length * 24);
  const top = niceTop(1.06 * Math.max(...rows.map((row) => row.goodput)));
  const groups = along.labels.filter((label) => rows.some((row) => row.x === label));
  const across = {
    x: {
      field: 'x',
      type: 'nominal',
      sort: groups,
      title: x.label,
      axis: { ...nameLabels(groups, width), ticks: false, labelPadding: 8 },
    },
    xOffset: { field: 'series', type: 'nominal', sort: names, scale: { paddingInner: 0.06 } },
  };
  const y = {
    field: 'goodput',
    type: 'quantitative',
    title: axis,
    scale: { domain: [0, top], nice: false },
  };
  const color = {
    field: 'series',
    type: 'nominal',
    sort: null,
    scale: { domain: names, range: shades(names.length) },
    legend:
      series === null
        ? null
        : {
            title: series.label,
            orient: 'top',
            symbolType: 'square',
            symbolSize: 160,
            titleOrient: 'left',
            offset: 10,
          },
  };
  const data = { values: rows };
  const heading = {
    title: `${title} by ${x.label}${series === null ? '' : `, one bar for each ${series.label}`}`,
    subtitle: [
      goodputFinding(headline(recommendations), points),
      slice.common,
      ...(several ? ['whiskers: 95 % confidence'] : []),
    ]
      .filter((part) => part !== '')
      .join(' · '),
    width: width + 60,
  };
  return chart(heading, {
    width,
    height: HEIGHT,
    layer: [
      {
        data,
        mark: { type: 'bar', stroke: INK, strokeWidth: 1 },
        encoding: { ...across, y, color, tooltip: { field: 'note' } },
      },
      ...(several
        ? [
            {
              data,
              mark: { type: 'rule', color: INK, strokeWidth: 1.4, clip: true },
              encoding: { ...across, y: { ...y, field: 'low' }, y2: { field: 'high' } },
            },
          ]
        : []),
      {
        data,
        mark: { type: 'text', baseline: 'bottom', dy: -5, fontSize: 11, color: MUTED },
        encoding: { ...across, y: { ...y, field: several ? 'high' : 'goodput' }, text: { field: 'label' } },
      },
    ],
  });
}

/** Shades from light to dark, distinguishable without colour. */
function shades(count: number): string[] {
  return Array.from({ length: count }, (_, rank) => {
    const depth = count === 1 ? 1 : rank / (count - 1);
    return `hsl(213, ${Math.round(25 + 62 * depth)}%, ${Math.round(80 - 47 * depth)}%)`;
  });
}
