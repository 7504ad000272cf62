import { formatFactor, formatMs, formatPercent } from '../../text/numbers.js';
import { costTexts } from '../cost-text.js';
import { html, type Markup } from '../html/markup.js';
import { type CellText, type Column, table } from '../html/parts.js';
import { keyLabel, valueLabel } from '../quantity.js';
import { withInterval } from '../statistics.js';
import { type CommonChoice, counterpart, type Recommendation } from '../study/analyze.js';
import { choiceLabel, choicesLabel } from '../study/finding.js';
import { type Point, scoreOf } from '../study/points.js';

/**
 * Default and best choice for each combination of conditions, and the choice for all of them if there is one. If the
 * workload has groups, the results of each.
 */
export function bestTable(recommendations: readonly Recommendation[], common: CommonChoice | null): Markup {
  const groups = recommendations[0]?.best.groups.map(({ name }) => name) ?? [];
  const grouped = groups.length > 0;
  const isWeighted = grouped && recommendations[0]?.best.weighted !== null;
  const figures = isWeighted ? ['By weight', ...groups] : grouped ? groups : ['Goodput (req/s)', 'Attained'];
  const other = grouped
    ? counterpart(recommendations)
    : { name: 'default', of: (recommendation: Recommendation) => recommendation.default };
  if (recommendations.some(({ ranking }) => ranking !== 'score')) return cheapestTable(recommendations);
  const conditions = Object.keys(recommendations[0]?.conditions ?? {});
  const compares = recommendations.some((recommendation) => other.of(recommendation) !== null);
  const tied = recommendations.some((recommendation) => recommendation.tied.length > 0);
  const columns: Column[] = [
    ...conditions.map((key) => ({ title: keyLabel(key), numeric: true })),
    ...(compares ? [{ title: other.name === 'default' ? 'Default' : 'Poorest', wraps: true }] : []),
    ...(compares ? figures : []).map((title) => ({ title, numeric: true })),
    { title: 'Best', wraps: true },
    ...figures.map((title) => ({ title, numeric: true })),
    ...(tied ? [{ title: 'Ties with', wraps: true }] : []),
    ...(grouped
      ? []
      : ['p99 latency', ...(compares ? ['Gain'] : [])].map((title) => ({ title, numeric: true }))),
    ...(common === null ? [] : [{ title: `All at ${choiceLabel(common.choice)}`, numeric: true }]),
  ];
  const rows = recommendations.map((recommendation, i): CellText[] => {
    const { best, choice } = recommendation;
    const compared = other.of(recommendation);
    return [
      ...conditions.map((key) => ({ text: valueLabel(best.values[key] ?? '') })),
      ...(compares ? [{ text: compared === null ? 'not run' : choiceLabel(compared.choice) }] : []),
      ...(compared !== null ? figuresOf(compared) : compares ? figures.map(() => ({ text: '–' })) : []),
      { text: choiceLabel(choice), strong: true },
      ...figuresOf(best),
      ...(tied ? [{ text: choicesLabel(recommendation.tied, 2) || '–' }] : []),
      ...(grouped ? [] : gainOf(recommendation).slice(0, compares ? 2 : 1)),
      ...(common === null ? [] : [{ text: scoreText(common.points[i] ?? null) }]),
    ];
  });
  return html`${table(columns, rows)}${note(recommendations)}`;
}

/** The cheapest fleet under each condition, if fleets have prices. */
function cheapestTable(recommendations: readonly Recommendation[]): Markup {
  const conditions = Object.keys(recommendations[0]?.conditions ?? {});
  const figures = ['Cost per hour', 'Per million in time', 'Goodput (req/s)', 'Attained', 'p99 latency'];
  const columns: Column[] = [
    ...conditions.map((key) => ({ title: keyLabel(key), numeric: true })),
    { title: 'Cheapest', wraps: true },
    ...figures.map((title) => ({ title, numeric: true })),
  ];
  const rows = recommendations.map(({ best, choice }): CellText[] => [
    ...conditions.map((key) => ({ text: valueLabel(best.values[key] ?? '') })),
    { text: choiceLabel(choice), strong: true },
    ...costTexts(best.cost).map((text) => ({ text })),
    { text: withInterval(best.goodputRps) },
    { text: formatPercent(best.attainment?.mean ?? null) },
    { text: formatMs(best.p99Ms) },
  ]);
  const rule =
    'Of the choices that do what is required, the one with the lowest price per hour; where none does, the one with the lowest price per million requests in time.';
  return html`${table(columns, rows)}<p class="small">${rule}</p>`;
}

function figuresOf(point: Point): CellText[] {
  if (point.groups.length > 0) {
    const shares = point.groups.map(({ attainment }) => ({ text: formatPercent(attainment?.mean ?? null) }));
    return point.weighted === null ? shares : [{ text: formatPercent(point.weighted.mean) }, ...shares];
  }
  return [{ text: withInterval(point.goodputRps) }, { text: formatPercent(point.attainment?.mean ?? null) }];
}

function gainOf({ best, improvement }: Recommendation): CellText[] {
  return [
    { text: formatMs(best.p99Ms) },
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
  const over = best?.goodputRps?.over ?? null;
  const grouped = (best?.groups.length ?? 0) > 0;
  const measure =
    best?.weighted != null
      ? 'Figures are the share of offered requests answered within their SLO, by weight and by class. Best is the choice that serves the largest share of the weight.'
      : best?.groups.length === 1
        ? 'Figures are the share of offered requests answered within their SLO: runs without a span have no goodput. Best is the largest share.'
        : grouped
          ? 'Figures are the share of offered requests answered within their SLO. Best is the choice that serves the worst-served group best, because goodput of one group does not make up for missed SLOs of another; of choices within 0.1 % of it, the one with the highest goodput.'
          : 'Best is the highest mean goodput. Attained is the share of offered requests answered within their SLO; latency counts every offered request; one that was not answered in time counts as never.';
  const doubt =
    over === null
      ? 'differ by less than 0.1 %'
      : `differ by less than 0.1 %, or if the 95 % confidence interval of their difference, ${over === 'seeds' ? 'seed by seed' : 'time slice by time slice'}, includes 0`;
  const ties = `A choice ties with the best if they ${doubt}. A tie never replaces the highest mean; among means within 0.1 % of it, the choice for all conditions is taken, else the default, else the smaller value or the first name.`;
  const intervals =
    over === null || grouped
      ? ''
      : ` ± is half the width of the 95 % confidence interval over ${over === 'seeds' ? 'seeds' : 'time slices'}.`;
  return html`<p class="small">${measure} ${ties}${intervals}</p>`;
}
