import type { CommonChoice, Recommendation } from './analyze.js';
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
  const conditions = Object.keys(recommendations[0]?.conditions ?? {});
  const groups = recommendations[0]?.best.groups.map(({ name }) => name) ?? [];
  const grouped = groups.length > 0;
  const figures = grouped ? groups : ['Goodput (req/s)', 'Attained'];
  const columns: Column[] = [
    ...conditions.map((key) => ({ title: keyLabel(key), numeric: true })),
    { title: 'Default' },
    ...figures.map((title) => ({ title, numeric: true })),
    { title: 'Best' },
    ...figures.map((title) => ({ title, numeric: true })),
    { title: grouped ? 'Goodput (req/s)' : 'p99 latency', numeric: true },
    { title: 'Gain', numeric: true },
    ...(common === null ? [] : [{ title: `All at ${choiceLabel(common.choice)}`, numeric: true }]),
  ];
  const rows = recommendations.map((recommendation, i): CellText[] => {
    const { best, default: usual, improvement, choice } = recommendation;
    const same = common?.points[i] ?? null;
    return [
      ...conditions.map((key) => ({ text: valueLabel(best.values[key] ?? '') })),
      { text: usual === null ? 'not run' : choiceLabel(choiceOf(usual, recommendation)) },
      ...(usual === null ? figures.map(() => ({ text: '–' })) : figuresOf(usual)),
      { text: choiceLabel(choice), strong: true },
      ...figuresOf(best),
      { text: grouped ? withInterval(best.goodputRps) : formatMs(best.p99Ms?.mean ?? null) },
      {
        text: improvement === null ? '–' : formatFactor(improvement),
        strong: improvement !== null && improvement >= 1.005,
      },
      ...(common === null ? [] : [{ text: same === null ? '–' : scoreText(same) }]),
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

function scoreText(point: Point): string {
  return point.groups.length > 0 ? formatPercent(scoreOf(point)) : withInterval(point.goodputRps);
}

function note(recommendations: readonly Recommendation[]): Markup {
  const best = recommendations[0]?.best;
  const several = (best?.cells.length ?? 0) > 1;
  const rule =
    (best?.groups.length ?? 0) > 0
      ? 'Best is the choice of which the group that fares worst fares best, because the goodput of one group does not make up for the missed objectives of another; values within 0.1 % of it count as equal and higher goodput decides. Shares are those of offered requests answered within their SLO; the gain is that of the worst group.'
      : 'Best is the highest mean goodput; values within 0.1 % of it count as equal and the smaller one is taken. Attained is the share of offered requests answered within their SLO; latency is that of executed requests.';
  return html`<p class="small">${rule}${several ? ' ± is half of the 95 % confidence interval over seeds.' : ''}</p>`;
}
