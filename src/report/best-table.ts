import { type CommonChoice, counterpart, type Recommendation } from './analyze.js';
import { choiceLabel, choiceOf } from './charts/finding.js';
import { formatFactor, formatMs, formatPercent, withInterval } from './format.js';
import { html, type Markup } from './html/markup.js';
import { type CellText, type Column, table } from './html/parts.js';
import { type Point, scoreOf } from './points.js';
import { keyLabel, valueLabel } from './quantity.js';

/**
 * Default and best choice for each combination of conditions, and the choice for all of them if there is one.
 * Where the workload has groups, who is served by each.
 */
export function bestTable(recommendations: readonly Recommendation[], common: CommonChoice | null): Markup {
  const groups = recommendations[0]?.best.groups.map(({ name }) => name) ?? [];
  const grouped = groups.length > 0;
  const figures = grouped ? groups : ['Goodput (req/s)', 'Attained'];
  const other = grouped
    ? counterpart(recommendations)
    : { name: 'default', of: (recommendation: Recommendation) => recommendation.default };
  const conditions = Object.keys(recommendations[0]?.conditions ?? {});
  const columns: Column[] = [
    ...conditions.map((key) => ({ title: keyLabel(key), numeric: true })),
    { title: other.name === 'default' ? 'Default' : 'Poorest' },
    ...figures.map((title) => ({ title, numeric: true })),
    { title: 'Best' },
    ...figures.map((title) => ({ title, numeric: true })),
    ...(grouped ? [] : ['p99 latency', 'Gain'].map((title) => ({ title, numeric: true }))),
    ...(common === null ? [] : [{ title: `All at ${choiceLabel(common.choice)}`, numeric: true }]),
  ];
  const rows = recommendations.map((recommendation, i): CellText[] => {
    const { best, choice } = recommendation;
    const beside = other.of(recommendation);
    return [
      ...conditions.map((key) => ({ text: valueLabel(best.values[key] ?? '') })),
      { text: beside === null ? 'not run' : choiceLabel(choiceOf(beside, recommendation)) },
      ...(beside === null ? figures.map(() => ({ text: '–' })) : figuresOf(beside)),
      { text: choiceLabel(choice), strong: true },
      ...figuresOf(best),
      ...(grouped ? [] : gainOf(recommendation)),
      ...(common === null ? [] : [{ text: scoreText(common.points[i] ?? null) }]),
    ];
  });
  return html`${table(columns, rows)}${note(recommendations)}`;
}

function figuresOf(point: Point): CellText[] {
  if (point.groups.length > 0) {
    return point.groups.map(({ sloAttainment }) => ({ text: formatPercent(sloAttainment.mean) }));
  }
  return [{ text: withInterval(point.goodputRps) }, { text: formatPercent(point.sloAttainment.mean) }];
}

function gainOf({ best, improvement }: Recommendation): CellText[] {
  return [
    { text: formatMs(best.p99Ms?.mean ?? null) },
    {
      text: improvement === null ? '–' : formatFactor(improvement),
      strong: improvement !== null && improvement >= 1.005,
    },
  ];
}

function scoreText(point: Point | null): string {
  if (point === null) return '–';
  return point.groups.length > 0 ? formatPercent(scoreOf(point)) : withInterval(point.goodputRps);
}

function note(recommendations: readonly Recommendation[]): Markup {
  const best = recommendations[0]?.best;
  const several = (best?.cells.length ?? 0) > 1;
  const grouped = (best?.groups.length ?? 0) > 0;
  const rule = grouped
    ? 'Figures are the share of offered requests answered within their SLO. Best is the choice under which the group that fares worst fares best, because goodput of one group does not make up for missed objectives of another; values within 0.1 % of it count as equal, and higher goodput decides.'
    : 'Best is the highest mean goodput; values within 0.1 % of it count as equal and the smaller one is taken. Attained is the share of offered requests answered within their SLO; latency is that of executed requests.';
  const intervals = several && !grouped ? ' ± is half of the 95 % confidence interval over seeds.' : '';
  return html`<p class="small">${rule}${intervals}</p>`;
}
