import type { PolicyComparison } from '../policies/compare.js';
import { layoutOf, placeLabel } from '../policies/layout.js';
import { shareWithInterval } from '../statistics.js';
import type { Axis } from '../study/axes.js';
import { type ChartSpec, chart, GRID, INK, MUTED, seriesEncoding, seriesStyles } from './theme.js';

/** Width of all small charts of a row together, with their axis, px. */
const ROW_WIDTH = 940;
const HEIGHT = 190;
/** Gap between two small charts, px. */
const GAP = 14;
/** Font size of labels in small charts, px. */
const SMALL = 11.5;
/** Exponent that stretches the axis near the top, where policies differ. */
const STRETCH = 3;
const TICKS = [0, 50, 70, 80, 90, 95, 100];
/** Horizontal shift of lines, in steps of x, so that whiskers do not hide one another. */
const DODGE = 0.035;

/** Goodput as a percentage of the bound: small charts with one line per policy and whiskers for the 95 % interval. */
export function policyLines(comparison: PolicyComparison, subtitle: string): ChartSpec {
  const { axes, bounded, policies, ours } = comparison;
  const { x, columns: across, rows: down } = layoutOf(axes);
  const { labels, title } = xLabels(x);
  const marks = marksOf(comparison);
  const xEncoding = {
    field: 'x',
    type: 'quantitative',
    scale: { domain: [-0.3, labels.length - 0.7], nice: false, zero: false },
    axis: {
      grid: false,
      title: null,
      values: labels.map((_, i) => i),
      labelExpr: `${JSON.stringify(labels)}[datum.value]`,
      labelOverlap: 'greedy',
      labelFontSize: SMALL,
    },
  };
  const top = Math.max(100, ...marks.map(({ share }) => share));
  const y = {
    field: 'share',
    type: 'quantitative',
    scale: { type: 'pow', exponent: STRETCH, domain: [0, top], nice: false },
    axis: { title: null, values: TICKS, labelFontSize: SMALL, gridColor: GRID, labelOverlap: false },
  };
  const names = policies.map(({ name }) => name);
  const styles = seriesStyles(names).map((style, i) => (i === ours ? { ...style, color: INK } : style));
  const style = seriesEncoding('policy', names, styles);
  const color = style('color');
  // Later layers are drawn on top.
  const layer = [false, true].flatMap((own) => {
    const transform = [{ filter: own ? 'datum.ours' : '!datum.ours' }];
    return [
      {
        transform,
        mark: { type: 'line', strokeWidth: own ? 3 : 1.5 },
        encoding: { x: xEncoding, y, color, strokeDash: style('dash') },
      },
      {
        transform,
        mark: { type: 'rule', strokeWidth: own ? 2 : 1 },
        encoding: { x: xEncoding, y: { ...y, field: 'low' }, y2: { field: 'high' }, color },
      },
      {
        transform,
        mark: { type: 'point', filled: true, opacity: 1, size: own ? 52 : 30 },
        encoding: { x: xEncoding, y, color, shape: style('shape'), tooltip: { field: 'note' } },
      },
    ];
  });
  const columns = across?.values.map(({ text }) => placeLabel({ [across.key]: text }, [across])) ?? [''];
  const rows = [...new Set(marks.map(({ row }) => row))];
  const facet = (field: string, sort: readonly string[], header: object) => ({
    ...{ field, type: 'nominal', sort, title: null },
    header: { labelColor: MUTED, labelFontSize: 12, labelPadding: 4, labels: sort.length > 1, ...header },
  });
  return chart(
    {
      title: `Goodput in percent of the ${bounded ? 'bound' : 'offered load'}${x === null ? '' : `, against ${title}`}`,
      subtitle,
      width: ROW_WIDTH,
    },
    {
      data: { values: marks },
      spacing: { column: GAP, row: down.length === 0 ? GAP : 3 * GAP },
      facet: {
        column: facet('column', columns, {}),
        row: facet('row', rows, { labelOrient: 'top', labelAnchor: 'start', labelAngle: 0, labelColor: INK }),
      },
      spec: {
        width: Math.floor(Math.min(420, (ROW_WIDTH - 40) / columns.length - GAP)),
        ...{ height: HEIGHT, layer },
      },
    },
  );
}

/** Labels along x, without the unit that all of them share, and that unit. */
function xLabels(x: Axis | null): { readonly labels: string[]; readonly title: string } {
  if (x === null) return { labels: [''], title: '' };
  const labels = x.values.map(({ label }) => label);
  const ending = ` ${x.unit}`;
  if (x.unit === '' || !labels.every((label) => label.endsWith(ending))) return { labels, title: x.label };
  return { labels: labels.map((label) => label.slice(0, -ending.length)), title: x.title };
}

function marksOf({ axes, cells, policies, ours }: PolicyComparison) {
  const { x, columns, rows } = layoutOf(axes);
  const positions = new Map(x?.values.map(({ text }, i) => [text, i]));
  return cells.flatMap(({ values, results, label }) =>
    results.flatMap((result, i) => {
      if (result === null) return [];
      const { name } = policies[i]!;
      return [
        {
          row: placeLabel(values, rows),
          column: columns === null ? '' : placeLabel(values, [columns]),
          x: (positions.get(values[x?.key ?? ''] ?? '') ?? 0) + (i - (policies.length - 1) / 2) * DODGE,
          share: result.share.mean * 100,
          low: Math.max(0, result.share.low * 100),
          high: Math.min(Math.max(1, result.share.mean), result.share.high) * 100,
          policy: name,
          ours: i === ours,
          note: `${name}: ${shareWithInterval(result.share)}, ${label}`,
        },
      ];
    }),
  );
}
