import type { PolicyComparison } from './compare.js';
import { behindText, intervalText, percentText, ratioText } from './format.js';
import { lossesOf } from './losses.js';
import type { PolicyOverview } from './overview.js';
import { tuningText } from './tuning.js';

/** A comparison of policies for the terminal: a line a policy, where ours is not the best, conditions, failures. */
export function policiesText(comparison: PolicyComparison): string {
  const { policies, bounded, completeCells, cells, conditions, tuning } = comparison;
  const of = bounded ? 'of the bound' : 'of the offered load';
  return [
    `${policies.length} policies in ${completeCells} of ${cells.length} cells, goodput in percent ${of}`,
    '',
    ...alignColumns([
      [
        'policy',
        'mean',
        'worst',
        'mean rank',
        'best in',
        'loads/s',
        '× clockwork',
        ...(hasCosts(comparison) ? ['µs/request'] : []),
        'worst cell',
      ],
      ...policies.map((policy) => [
        policy.name,
        intervalText(policy.share),
        percentText(policy.worst.share),
        policy.meanRank.toFixed(2),
        String(policy.bestIn),
        policy.loadsPerS.toFixed(1),
        ratioText(policy.loadsRatio),
        ...(hasCosts(comparison) ? [policy.cost === null ? '–' : policy.cost.usPerRequest.toFixed(2)] : []),
        policy.worst.cell,
      ]),
    ]),
    ...(tuning.length === 0 ? [] : ['', ...tuning.map(tuningText)]),
    ...notBestLines(comparison),
    ...(conditions.length === 0 ? [] : conditionLines(comparison)),
    ...failedLines(comparison),
    '',
  ].join('\n');
}

function notBestLines(comparison: PolicyComparison): string[] {
  const { ours, policies, cells } = comparison;
  if (ours === null) return [];
  const { name } = policies[ours] as PolicyOverview;
  const run = cells.filter(({ results }) => results[ours] !== null).length;
  const losses = lossesOf(comparison);
  if (losses.length === 0) return ['', `${name}: no policy is better beyond doubt in any of ${run} cells`];
  return [
    '',
    `${name} is not the best in ${losses.length} of ${run} cells:`,
    ...alignColumns([
      ['behind', name, 'best', 'best policy', 'cell'],
      ...losses.map((loss) => [
        behindText(loss.behind),
        percentText(loss.ours),
        percentText(loss.best),
        loss.policy,
        loss.cell,
      ]),
    ]),
  ];
}

function conditionLines({ conditions, policies }: PolicyComparison): string[] {
  return [
    '',
    'Places by mean, under each condition:',
    ...alignColumns([
      ['policy', ...conditions.map(({ label }) => label)],
      ...policies.map(({ name }, i) => [
        name,
        ...conditions.map(({ means, places }) =>
          means[i] == null ? '–' : `${places[i]} (${percentText(means[i])})`,
        ),
      ]),
      [`Kendall's τ`, ...conditions.map(({ tau }) => (tau === null ? '–' : tau.toFixed(2)))],
    ]),
  ];
}

function failedLines({ failed }: PolicyComparison): string[] {
  const [first] = failed;
  if (first === undefined) return [];
  const count = failed.length === 1 ? '1 run' : `${failed.length} runs`;
  return ['', `left out: ${count} that failed, the first with ${first.code}: ${first.message}`];
}

function hasCosts({ policies }: PolicyComparison): boolean {
  return policies.some(({ cost }) => cost !== null);
}

/** Columns of text; numbers are set to the right, the first and the last column to the left. */
function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const last = rows[0]!.length - 1;
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const isText = (column: number) => rows.slice(1).every((row) => !/^[-+≈]?\d|^–$/.test(row[column]!));
  return rows.map((row) =>
    row
      .map((cell, i) =>
        i === 0 || i === last || isText(i) ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!),
      )
      .join('  ')
      .trimEnd(),
  );
}
