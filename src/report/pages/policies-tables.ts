import { formatFactor, formatPercentCell, formatPoints, formatRate } from '../../text/numbers.js';
import { html, type Markup } from '../html/markup.js';
import { type CellText, type Column, rateCell, table } from '../html/parts.js';
import type { PolicyComparison } from '../policies/compare.js';
import { layoutOf, placeLabel } from '../policies/layout.js';
import { lossesOf } from '../policies/losses.js';
import type { CellOutcome } from '../policies/matrix.js';
import { valueLabel } from '../quantity.js';
import { percentWithInterval } from '../statistics.js';

/** Every policy over all cells, a line each. */
export function overviewTable({ policies, ours, completeCells, bounded }: PolicyComparison): Markup {
  const costs = policies.some(({ cost }) => cost !== null);
  const fair = policies.some(({ worstModel }) => worstModel !== null);
  const columns = [
    { title: 'Policy' },
    ...[
      `Mean, % of ${bounded ? 'bound' : 'offered'}`,
      'Worst cell',
      'Mean rank',
      `Unbeaten in, of ${completeCells}`,
      'LOADs/s',
      'LOADs, × clockwork',
      ...(fair ? ['Worst model ÷ average', 'Cells with a model below half'] : []),
      ...(costs ? ['µs per request', 'Cost, × clockwork', 'worst case'] : []),
    ].map((title) => ({ title, numeric: true })),
  ];
  const rows = policies.map((policy, i): CellText[] => [
    { text: policy.name, strong: i === ours },
    { text: percentWithInterval(policy.share), sort: policy.share.mean, strong: i === ours },
    { text: formatPercentCell(policy.worst.share), sort: policy.worst.share },
    { text: policy.meanRank.toFixed(2) },
    { text: String(policy.bestIn) },
    rateCell(policy.loadsPerS),
    { text: formatFactor(policy.loadsRatio), sort: policy.loadsRatio ?? -1 },
    ...(fair
      ? [
          { text: policy.worstModel === null ? '–' : policy.worstModel.toFixed(2) },
          { text: policy.cellsBelowHalf === null ? '–' : String(policy.cellsBelowHalf) },
        ]
      : []),
    ...(costs
      ? [
          { text: policy.cost === null ? '–' : policy.cost.usPerRequest.toFixed(2) },
          { text: formatFactor(policy.cost?.ratio ?? null), sort: policy.cost?.ratio ?? -1 },
          { text: formatFactor(policy.cost?.worstRatio ?? null), sort: policy.cost?.worstRatio ?? -1 },
        ]
      : []),
  ]);
  return dense(table(columns, rows, true));
}

/** Cells in which another policy is better than ours. */
export function lossesTable(comparison: PolicyComparison): Markup {
  const columns = [
    { title: 'Cell' },
    { title: 'Points behind', numeric: true },
    { title: comparison.policies[comparison.ours!]!.name, numeric: true },
    { title: 'Best', numeric: true },
    { title: 'Best policy' },
  ];
  const rows = lossesOf(comparison).map((loss) => [
    { text: loss.cell },
    { text: formatPoints(loss.behind), sort: loss.behind },
    { text: formatPercentCell(loss.ours) },
    { text: formatPercentCell(loss.best) },
    { text: loss.policy },
  ]);
  return dense(table(columns, rows, true));
}

/** Share of the bound of every policy in every cell. */
export function cellsTable({ axes, cells, policies, bounded }: PolicyComparison): Markup {
  const columns: Column[] = [
    ...axes.map(({ label, kind }) => ({ title: label, numeric: kind === 'number' })),
    { title: bounded ? 'Bound (req/s)' : 'Offered (req/s)', numeric: true },
    ...policies.map(({ name }) => ({ title: name, numeric: true })),
  ];
  const rows = cells.map(({ values, boundRps, bounded: known, results, ranking }): CellText[] => [
    ...axes.map(({ key, kind, values: all }) => ({
      text: valueLabel(values[key]!),
      ...(kind === 'number' ? { sort: all.find(({ text }) => text === values[key])!.at } : {}),
    })),
    {
      text: `${bounded && !known ? '≤ ' : ''}${formatRate(boundRps?.mean ?? null)}`,
      sort: boundRps?.mean ?? -1,
    },
    ...results.map((result, i) => shareCell(result, i === ranking.top, ranking.ranks[i] === 1)),
  ]);
  return html`<div class="wide">${dense(table(columns, rows, true))}</div>`;
}

function shareCell(result: CellOutcome | null, top: boolean, unbeaten: boolean): CellText {
  if (result === null) return { text: '–', sort: -1 };
  return {
    text: percentWithInterval(result.share),
    sort: result.share.mean,
    strong: top,
    underlined: unbeaten && !top,
  };
}

/** A figure of every policy for each row of charts; `figure` gets the results of its cells. */
export function byRowTable(
  { axes, cells, policies }: PolicyComparison,
  figure: (results: readonly CellOutcome[]) => CellText,
): Markup {
  const { rows: down } = layoutOf(axes);
  const labels = [...new Set(cells.map(({ values }) => placeLabel(values, down)))];
  const rows = labels.map((label) => {
    const own = cells.filter(({ values }) => placeLabel(values, down) === label);
    return [
      { text: label || 'all cells' },
      ...policies.map((_, i) => figure(own.flatMap(({ results }) => results[i] ?? []))),
    ];
  });
  return dense(table([{ title: '' }, ...policies.map(({ name }) => ({ title: name, numeric: true }))], rows));
}

/** Cost of scheduling on each benchmark case. */
export function costsTable({ costs }: PolicyComparison): Markup {
  const cases = [...new Set(costs.map((cost) => cost.case))];
  const names = [...new Set(costs.map(({ policy }) => policy))];
  const rows = names.map((name) => [
    { text: name },
    ...cases.map((one) => {
      const cost = costs.find((entry) => entry.policy === name && entry.case === one);
      return cost === undefined
        ? { text: '–', sort: -1 }
        : {
            text: `${cost.usPerRequest.toFixed(2)} µs (${formatFactor(cost.ratio)})`,
            sort: cost.usPerRequest,
          };
    }),
  ]);
  return dense(table([{ title: 'Policy' }, ...cases.map((title) => ({ title, numeric: true }))], rows, true));
}

/** Places under each condition side by side. */
export function conditionsTable({ conditions, policies }: PolicyComparison): Markup {
  const rows = [
    ...policies.map(({ name }, i) => [
      { text: name },
      ...conditions.map(({ means, places }) => ({
        text: means[i] == null ? '–' : `${places[i]} (${formatPercentCell(means[i])} %)`,
        sort: places[i] ?? -1,
      })),
    ]),
    [
      { text: 'Kendall’s τ against the first' },
      ...conditions.map(({ tau }) => ({ text: tau === null ? '–' : tau.toFixed(2) })),
    ],
  ];
  return dense(
    table([{ title: 'Policy' }, ...conditions.map(({ label }) => ({ title: label, numeric: true }))], rows),
  );
}

function dense(content: Markup): Markup {
  return html`<div class="dense">${content}</div>`;
}
