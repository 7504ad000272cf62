import type { PolicyComparison } from '../policies/compare.js';
import { layoutOf } from '../policies/layout.js';
import { shareWithInterval } from '../statistics.js';
import {
  columnLabels,
  GAP,
  placeOf,
  policyStyles,
  ROW_WIDTH,
  SMALL,
  smallMultiples,
  xLabels,
} from './small-multiples.js';
import { type ChartSpec, chart, GRID, seriesEncoding } from './theme.js';

const HEIGHT = 190;
/** Exponent that stretches the axis near the top, where policies differ. */
const STRETCH = 3;
const TICKS = [0, 50, 70, 80, 90, 95, 100];
/** Horizontal shift of lines, in steps of x, so that whiskers do not hide one another. */
const DODGE = 0.035;

/** Goodput as a percentage of the bound: small charts with one line per policy and whiskers for the 95 % interval. */
export function policyLines(comparison: PolicyComparison, subtitle: string): ChartSpec {
  const { axes, bounded, policies, ours } = comparison;
  const { x } = layoutOf(axes);
  const { labels, title } = xLabels(axes);
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
  const style = seriesEncoding('policy', names, policyStyles(policies, ours));
  const color = style('color');
  const isOurs = (yes: boolean) => [{ filter: yes ? 'datum.ours' : '!datum.ours' }];
  // Later layers are drawn on top.
  const layer = [false, true].flatMap((own) => [
    {
      transform: isOurs(own),
      mark: { type: 'line', strokeWidth: own ? 3 : 1.5 },
      encoding: { x: xEncoding, y, color, strokeDash: style('dash') },
    },
    {
      transform: isOurs(own),
      mark: { type: 'rule', strokeWidth: own ? 2 : 1 },
      encoding: { x: xEncoding, y: { ...y, field: 'low' }, y2: { field: 'high' }, color },
    },
    {
      transform: isOurs(own),
      mark: { type: 'point', filled: true, opacity: 1, size: own ? 52 : 30 },
      encoding: { x: xEncoding, y, color, shape: style('shape'), tooltip: { field: 'note' } },
    },
  ]);
  const width = Math.floor(Math.min(420, (ROW_WIDTH - 40) / columnLabels(axes).length - GAP));
  return chart(
    {
      title: `Goodput in percent of the ${bounded ? 'bound' : 'offered load'}${x === null ? '' : `, against ${title}`}`,
      subtitle,
      width: ROW_WIDTH,
    },
    smallMultiples(axes, marks, { width, height: HEIGHT, layer }),
  );
}

function marksOf({ axes, cells, policies, ours }: PolicyComparison) {
  const { x } = layoutOf(axes);
  const positions = new Map(x?.values.map(({ text }, i) => [text, i]));
  return cells.flatMap((cell) =>
    cell.results.flatMap((result, i) => {
      if (result === null) return [];
      const { name } = policies[i]!;
      return [
        {
          ...placeOf(axes, cell),
          x: (positions.get(cell.values[x?.key ?? ''] ?? '') ?? 0) + (i - (policies.length - 1) / 2) * DODGE,
          share: result.share.mean * 100,
          low: Math.max(0, result.share.low * 100),
          high: Math.min(Math.max(1, result.share.mean), result.share.high) * 100,
          policy: name,
          ours: i === ours,
          note: `${name}: ${shareWithInterval(result.share)}, ${cell.label}`,
        },
      ];
    }),
  );
}
