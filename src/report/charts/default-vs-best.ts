import { formatFactor, formatPercent, formatRate, significant } from '../../text/numbers.js';
import { textWidth } from '../../text/text-width.js';
import { keyLabel, valueLabel } from '../quantity.js';
import { headline, type Recommendation } from '../study/analyze.js';
import { choiceLabel, finding, servedGroups } from '../study/finding.js';
import { measureOf, type Point, scoreName, scoreOf } from '../study/points.js';
import { type ChartSpec, chart, INK, MUTED, niceTop, STRONG, WEAK } from './theme.js';

const HEIGHT = 300;
/** Minimum width of one group of two bars, px. */
const GROUP = 92;

/**
 * Goodput (with groups, attainment of the worst-served one) of the default and of the best choice, side by side for
 * each condition (SLO), with the factor between them on top. Light bars are the default, dark ones the best, which
 * works in black and white. `common`: facts shared by the whole sweep, in words; may be empty.
 */
export function defaultVsBest(recommendations: readonly Recommendation[], common: string): ChartSpec {
  const keys = Object.keys(recommendations[0]?.conditions ?? {});
  const groups = recommendations.map(groupLabel);
  const width = Math.max(420, groups.length * groupWidth(groups));
  const rows = recommendations.flatMap((recommendation) => barsOf(recommendation));
  const factors = recommendations.flatMap((recommendation) => {
    const { best, default: usual, improvement } = recommendation;
    if (usual === null || improvement === null) return [];
    const score = Math.max(scoreOf(best), scoreOf(usual));
    return [{ group: groupLabel(recommendation), score, factor: factorLabel(improvement) }];
  });
  const grouped = recommendations.some(({ best }) => best.groups.length > 0);
  const top = grouped ? 1.15 : niceTop(1.12 * Math.max(...rows.map((row) => row.score)));
  const y = {
    field: 'score',
    type: 'quantitative',
    title: grouped ? measureOf(recommendations[0]!.best) : 'goodput (requests/s)',
    scale: { domain: [0, top], nice: false },
    ...(grouped ? { axis: { format: '.0%', values: [0, 0.2, 0.4, 0.6, 0.8, 1] } } : {}),
  } as const;
  const x = {
    field: 'group',
    type: 'nominal',
    sort: groups,
    title: keys.length === 0 ? null : keys.map(keyLabel).join(', '),
    scale: { paddingInner: 0.16, paddingOuter: 0.1 },
    axis: {
      labelAngle: 0,
      labelExpr: "split(datum.label, '\\n')",
      labelLineHeight: 15,
      domain: true,
      ticks: false,
      labelPadding: 8,
    },
  } as const;
  const xOffset = {
    field: 'bar',
    type: 'nominal',
    sort: ['default', 'best'],
    scale: { paddingInner: 0.06 },
  } as const;

  return chart(
    {
      title: `${scoreName(recommendations[0]!.best)} at the default and at the best ${choiceName(recommendations)}`,
      subtitle: [finding(headline(recommendations)), common].filter((part) => part !== '').join(' · '),
      width: width + 60,
    },
    {
      width,
      height: HEIGHT,
      layer: [
        {
          data: { values: rows },
          mark: { type: 'bar', strokeWidth: 1, stroke: INK },
          encoding: {
            x,
            y,
            xOffset,
            color: {
              field: 'bar',
              type: 'nominal',
              sort: ['default', 'best'],
              scale: { domain: ['default', 'best'], range: [WEAK, STRONG] },
              legend: {
                title: null,
                orient: 'top',
                direction: 'horizontal',
                symbolType: 'square',
                symbolSize: 160,
                offset: 10,
              },
            },
            tooltip: { field: 'note' },
          },
        },
        {
          data: { values: rows },
          mark: { type: 'text', baseline: 'bottom', dy: -4, fontSize: 11, color: MUTED },
          encoding: { x, y, xOffset, text: { field: 'label' } },
        },
        {
          data: { values: factors },
          mark: { type: 'text', baseline: 'bottom', dy: -20, fontSize: 14, fontWeight: 600, color: INK },
          encoding: { x, y, text: { field: 'factor' } },
        },
      ],
    },
  );
}

function barsOf(recommendation: Recommendation) {
  const group = groupLabel(recommendation);
  const { best, default: usual } = recommendation;
  const bar = (name: string, point: Point) => ({
    group,
    bar: name,
    score: scoreOf(point),
    label:
      point.groups.length > 0
        ? formatPercent(scoreOf(point))
        : formatRate(significant(point.goodputRps!.mean, 3)),
    note: `${name}: ${choiceLabel(point.choice)}, ${noteOf(point)}`,
  });
  return [...(usual === null ? [] : [bar('default', usual)]), bar('best', best)];
}

/** The condition, and under it the best choice there, one line per key. */
function groupLabel({ conditions, choice }: Recommendation): string {
  const condition = Object.values(conditions).map(valueLabel).join(', ');
  const best = `best: ${choiceLabel(choice)}`.replaceAll(', ', ',\n');
  return condition === '' ? best : `${condition}\n${best}`;
}

/** Width that fits the longest line of any label. */
function groupWidth(labels: readonly string[]): number {
  const lines = labels.flatMap((label) => label.split('\n'));
  return Math.max(GROUP, ...lines.map((line) => Math.ceil(textWidth(line, 12) * 1.08) + 10));
}

function choiceName(recommendations: readonly Recommendation[]): string {
  const keys = new Set(recommendations.flatMap(({ choice }) => Object.keys(choice)));
  return [...keys].map(keyLabel).join(' and ');
}

function noteOf(point: Point): string {
  return point.groups.length > 0 ? servedGroups(point) : `${formatRate(point.goodputRps!.mean)} req/s`;
}

function factorLabel(improvement: number): string {
  return improvement < 1.005 ? 'same' : formatFactor(improvement);
}
