import { formatPercentCell, formatPoints } from '../../text/numbers.js';
import { textWidth } from '../../text/text-width.js';
import type { PolicyComparison } from '../policies/compare.js';
import { layoutOf } from '../policies/layout.js';
import { readableOn } from './contrast.js';
import {
  at,
  columnLabels,
  GAP,
  type LegendEntry,
  legendRow,
  placeOf,
  ROW_WIDTH,
  SMALL,
  smallMultiples,
  xLabels,
} from './small-multiples.js';
import { type ChartSpec, chart } from './theme.js';

const HEIGHT = 17;
/** Cell colours by distance from the best, in shares of the bound: each up to its limit. */
const GROUNDS = [
  { limit: 0.001, color: '#0b3f80' },
  { limit: 0.01, color: '#3672b5' },
  { limit: 0.03, color: '#74a3d3' },
  { limit: 0.1, color: '#afcae6' },
  { limit: 0.3, color: '#d9e5f3' },
  { limit: Number.POSITIVE_INFINITY, color: '#f3f6fa' },
] as const;

/** Rank of every policy in every cell, in the layout of the lines; darker means closer to the best. */
export function policyRanks(comparison: PolicyComparison, subtitle: string): ChartSpec {
  const { axes, policies } = comparison;
  const names = policies.map(({ name }) => name);
  const { labels, title } = xLabels(axes);
  const room = Math.max(...names.map((name) => textWidth(name, SMALL))) + 12;
  const perColumn = (ROW_WIDTH - room) / columnLabels(axes).length - GAP;
  const x = {
    field: 'x',
    type: 'ordinal',
    scale: { domain: labels.map((_, i) => i) },
    title: null,
    axis: {
      labelAngle: 0,
      labelExpr: `${JSON.stringify(labels)}[datum.value]`,
      domain: false,
      ticks: false,
      labelFontSize: SMALL,
    },
  };
  const y = {
    field: 'policy',
    type: 'nominal',
    scale: { domain: names },
    title: null,
    axis: { domain: false, ticks: false, labelFontSize: SMALL, labelPadding: 6, labelLimit: room },
  };
  const asIs = (field: string) => ({ field, type: 'nominal', scale: null, legend: null });
  const spec = {
    width: { step: Math.floor(Math.min(44, perColumn / labels.length)) },
    height: { step: HEIGHT },
    layer: [
      {
        mark: { type: 'rect', stroke: '#ffffff', strokeWidth: 1 },
        encoding: { x, y, color: asIs('ground'), tooltip: { field: 'note' } },
      },
      {
        mark: { type: 'text', fontSize: 11 },
        encoding: { x, y, text: { field: 'rank' }, color: asIs('ink') },
      },
    ],
  };
  return chart(
    { title: `Rank in every cell${title === '' ? '' : `, against ${title}`}`, subtitle, width: ROW_WIDTH },
    smallMultiples(axes, marksOf(comparison), spec, legendRow(legend())),
  );
}

function legend(): LegendEntry[] {
  return GROUNDS.map(({ limit, color }, i) => ({
    label: Number.isFinite(limit)
      ? `${i === 0 ? 'less than' : `${GROUNDS[i - 1]!.limit * 100} to`} ${limit * 100}${i === 0 ? ' points behind the best' : ''}`
      : `${GROUNDS[i - 1]!.limit * 100} or more`,
    sample: (x, y) => [
      {
        mark: { type: 'square', opacity: 1, size: 220, color, stroke: '#9aa5b1', strokeWidth: 0.5 },
        encoding: at(x + 28, y),
      },
    ],
  }));
}

function marksOf({ axes, cells, policies }: PolicyComparison) {
  const { x } = layoutOf(axes);
  const positions = new Map(x?.values.map(({ text }, i) => [text, i]));
  return cells.flatMap((cell) =>
    cell.results.flatMap((result, i) => {
      if (result === null) return [];
      const { name } = policies[i]!;
      const rank = cell.ranking.ranks[i];
      const behind = cell.ranking.behind[i]!;
      const ground = GROUNDS.find(({ limit }) => behind < limit)!.color;
      return [
        {
          ...placeOf(axes, cell),
          policy: name,
          x: positions.get(cell.values[x?.key ?? ''] ?? '') ?? 0,
          rank: String(rank),
          ground,
          ink: readableOn(ground),
          note: `${name}: rank ${rank}, ${formatPercentCell(result.share.mean)} %, ${formatPoints(behind)} points behind the best, ${cell.label}`,
        },
      ];
    }),
  );
}
