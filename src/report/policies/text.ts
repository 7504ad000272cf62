import { formatFactor, formatPercentCell, formatPoints } from '../../text/numbers.js';
import { alignColumns } from '../../text/table.js';
import { plural } from '../../text/words.js';
import { senderFigures, senderLines } from '../senders.js';
import { percentWithInterval } from '../statistics.js';
import { certaintyOf, type PolicyComparison } from './compare.js';
import { lossesOf } from './losses.js';
import type { PolicyOverview } from './overview.js';
import { tuningText } from './tuning.js';

/** A comparison of policies for the terminal: a line per policy, losses of ours, conditions, failures. */
export function policiesText(comparison: PolicyComparison): string {
  const { policies, bounded, completeCells, cells, conditions, tuning } = comparison;
  const of = bounded ? 'of the bound' : 'of the offered load';
  const senders = senderFigures(cells);
  return [
    `${policies.length} policies in ${completeCells} of ${plural(cells.length, 'cell')}, ${senders.some(({ kind }) => kind === 'classes') ? 'weighted ' : ''}goodput in percent ${of}`,
    certaintyOf(comparison),
    '',
    ...alignColumns(
      [
        [
          'policy',
          'mean',
          'worst',
          'mean rank',
          'unbeaten in',
          'loads/s',
          '× clockwork',
          ...(hasCosts(comparison) ? ['µs/request'] : []),
          'worst cell',
        ],
        ...policies.map((policy) => [
          policy.name,
          percentWithInterval(policy.share),
          formatPercentCell(policy.worst.share),
          policy.meanRank.toFixed(2),
          String(policy.bestIn),
          policy.loadsPerS?.toFixed(1) ?? '–',
          formatFactor(policy.loadsRatio),
          ...(hasCosts(comparison) ? [policy.cost === null ? '–' : policy.cost.usPerRequest.toFixed(2)] : []),
          policy.worst.cell,
        ]),
      ],
      [0, -1],
    ),
    ...(tuning.length === 0 ? [] : ['', ...tuning.map(tuningText)]),
    ...senderLines(
      senders,
      'policy',
      policies.map(({ name }) => name),
      'cells',
    ),
    ...beatenLines(comparison),
    ...(conditions.length === 0 ? [] : conditionLines(comparison)),
    ...failedLines(comparison),
    '',
  ].join('\n');
}

function beatenLines(comparison: PolicyComparison): string[] {
  const { ours, policies, cells } = comparison;
  if (ours === null) return [];
  const { name } = policies[ours] as PolicyOverview;
  const run = cells.filter(({ results }) => results[ours] !== null).length;
  const losses = lossesOf(comparison);
  if (losses.length === 0) return [];
  return [
    '',
    `${name} is beaten in ${losses.length} of ${plural(run, 'cell')}:`,
    ...alignColumns(
      [
        ['behind', name, 'best', 'best policy', 'cell'],
        ...losses.map((loss) => [
          formatPoints(loss.behind),
          formatPercentCell(loss.ours),
          formatPercentCell(loss.best),
          loss.policy,
          loss.cell,
        ]),
      ],
      [-2, -1],
    ),
  ];
}

function conditionLines({ conditions, policies }: PolicyComparison): string[] {
  return [
    '',
    'Rank by mean, under each condition:',
    ...alignColumns(
      [
        ['policy', ...conditions.map(({ label }) => label)],
        ...policies.map(({ name }, i) => [
          name,
          ...conditions.map(({ means, places }) =>
            means[i] == null ? '–' : `${places[i]} (${formatPercentCell(means[i])})`,
          ),
        ]),
        [`Kendall's τ`, ...conditions.map(({ tau }) => (tau === null ? '–' : tau.toFixed(2)))],
      ],
      [0],
    ),
  ];
}

function failedLines({ failed }: PolicyComparison): string[] {
  const [first] = failed;
  if (first === undefined) return [];
  return [
    '',
    `left out: ${plural(failed.length, 'run')} that failed, the first with ${first.code}: ${first.message}`,
  ];
}

function hasCosts({ policies }: PolicyComparison): boolean {
  return policies.some(({ cost }) => cost !== null);
}
