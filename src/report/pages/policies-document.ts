import { formatPercentCell, formatRate } from '../../text/numbers.js';
import { capital, plural } from '../../text/words.js';
import {
  type Block,
  type CellText,
  type Column,
  type Document,
  numberCell,
  rateCell,
  type Section,
  type Table,
} from '../document.js';
import { certaintyOf, type PolicyComparison } from '../policies/compare.js';
import { quoted, sweepCommand } from '../reproduce.js';
import { senderSections } from '../senders.js';
import { percentWithInterval } from '../statistics.js';
import { placeCell } from '../study/points.js';
import { cautions } from './blocks.js';

/** Policies over a matrix of conditions: a row per policy, one per cell, and the commands that repeat it. */
export function policiesDocument(comparison: PolicyComparison): Document {
  const { policies, cells, bounded, completeCells, warnings, failed, sweep } = comparison;
  const isWeighted = cells.some(({ results }) => results.some((result) => (result?.class.length ?? 0) > 0));
  const summaries = sweep.results.cells.flatMap((cell) =>
    cell.status === 'done' ? cell.result.summary : [],
  );
  return {
    kind: `escapement policy comparison · ${sweep.results.name}`,
    title: `${policies.length} policies in ${completeCells} of ${plural(cells.length, 'cell')}`,
    lead: [
      `${isWeighted ? 'Weighted goodput' : 'Goodput'} in percent of the ${bounded ? 'bound' : 'offered load'}`,
      capital(certaintyOf(comparison)),
    ],
    sections: [
      cautions(warnings, summaries),
      { title: 'Summary', blocks: [{ table: overviewTable(comparison) }] },
      { title: 'Charts', blocks: [{ charts: true }] },
      ...senderSections(
        policies.map(({ name }) => name),
        cells,
      ),
      { title: 'Every cell', blocks: [{ table: cellsTable(comparison) }] },
      ...failedSection(failed),
      { title: 'Methods', blocks: methods(comparison), only: 'page' },
    ],
  };
}

function overviewTable({ policies, completeCells }: PolicyComparison): Table {
  const best = Math.max(...policies.map(({ share }) => share.mean));
  const hasModels = policies.some(({ worstModel }) => worstModel !== null);
  const further = hasModels ? ['worst model'] : [];
  const titles = ['mean', 'worst', 'mean rank', `unbeaten, of ${completeCells}`, 'loads/s', ...further];
  return {
    columns: [
      { title: 'policy' },
      ...titles.map((title) => ({ title, numeric: true })),
      { title: 'worst cell' },
    ],
    rows: policies.map((policy) => [
      { text: policy.name, strong: policy.share.mean === best },
      {
        text: percentWithInterval(policy.share),
        sort: policy.share.mean,
        strong: policy.share.mean === best,
      },
      numberCell(formatPercentCell)(policy.worst.share),
      { text: policy.meanRank.toFixed(2) },
      { text: String(policy.bestIn) },
      rateCell(policy.loadsPerS),
      ...(hasModels ? [{ text: policy.worstModel?.toFixed(2) ?? '–' }] : []),
      { text: policy.worst.cell },
    ]),
    sortable: true,
  };
}

/** Share of the bound of every policy in every cell. */
function cellsTable({ axes, cells, policies, bounded }: PolicyComparison): Table {
  const columns: Column[] = [
    ...axes.map(({ label, kind }) => ({ title: label, numeric: kind === 'number' })),
    { title: bounded ? 'bound/s' : 'offered/s', numeric: true },
    ...policies.map(({ name }) => ({ title: name, numeric: true })),
  ];
  const rows = cells.map(({ values, boundRps, bounded: known, results, ranking }): CellText[] => [
    ...axes.map((axis) => placeCell(axis, values)),
    {
      text: `${bounded && !known ? '≤ ' : ''}${formatRate(boundRps?.mean ?? null)}`,
      sort: boundRps?.mean ?? -1,
    },
    ...results.map((result, i) =>
      result === null
        ? { text: '–', sort: -1 }
        : {
            text: percentWithInterval(result.share),
            sort: result.share.mean,
            strong: i === ranking.top,
            underlined: i !== ranking.top && ranking.ranks[i] === 1,
          },
    ),
  ]);
  return { columns, rows, sortable: true };
}

function failedSection([first, ...others]: PolicyComparison['failed']): Section[] {
  if (first === undefined) return [];
  const text = `Left out: ${plural(1 + others.length, 'run')} that failed, the first with ${first.code}: ${first.message}`;
  return [{ title: 'Failed runs', blocks: [{ text }] }];
}

function methods({ sweep: { name, results }, bounded }: PolicyComparison): Block[] {
  return [
    {
      text: bounded
        ? 'The bound is clairvoyant: it knows every arrival, has the weights of every model on every GPU, and has no delay or noise, so 100 % may be out of reach. ≤: no bound is known, the offered load takes its place.'
        : 'No run has a bound: goodput is given as percent of the offered load, which may be out of reach.',
    },
    {
      text: 'A policy is better than another if the mean of their differences, on the same arrivals, is at least 0.1 % of the bound and its 95 % confidence interval excludes 0. A rank is 1 + the number of better policies; bold: the highest mean, underlined: unbeaten. Ranks are not corrected for multiple comparisons. “Best fixed” takes the best value of each cell with hindsight. Worst model: the lowest share in time of a model, relative to that of all requests.',
    },
    {
      code: [sweepCommand(results, name), `escapement compare ${quoted(name)}`].join('\n'),
    },
    { details: 'The experiment as written', blocks: [{ code: results.experiment }] },
  ];
}
