import type { SweepResults } from '../../record/results.js';
import { formatFactor, formatMs, formatPercent, formatRate } from '../../text/numbers.js';
import { alignColumns } from '../../text/table.js';
import { plural } from '../../text/words.js';
import { COLUMNS, wrap } from '../../text/wrap.js';
import { chartsLeftOut } from '../charts/chart-sets.js';
import { costTexts } from '../cost-text.js';
import { fleetRows } from '../fleet-text.js';
import { keyLabel, valueLabel, valuesLabel } from '../quantity.js';
import { ONE_SAMPLE } from '../statistics.js';
import { counterpart, failedCells, type Recommendation, recommend } from '../study/analyze.js';
import { fixedValues } from '../study/axes.js';
import { deploymentOf } from '../study/deploy.js';
import { choiceLabel, choicesLabel } from '../study/finding.js';
import { sweptFleets } from '../study/fleets.js';
import { cheapestFirst, pointColumns } from '../study/point-columns.js';
import { aggregate, type GroupPoint, type Point, scoreOf, worstGroup } from '../study/points.js';
import { starvedRunsText } from '../study/starved.js';
import { tunedDefaults } from '../study/tuned-default.js';
import { verdict } from '../study/verdict.js';

/** Tables on screen stop here; the files have all. */
const MAX_ROWS = 24;

/** Output options of a sweep. */
export interface SweepTextOptions {
  /** Columns of the terminal: tables are cut there. Absent: they are not cut. */
  readonly columns?: number;
  /** Path of the experiment, for the lines to paste. */
  readonly file?: string;
}

/** A sweep for the terminal: its runs, the best of each condition, the verdict and how to deploy it. */
export function sweepText(results: SweepResults, options: SweepTextOptions = {}): string {
  const { columns = Number.POSITIVE_INFINITY, file } = options;
  const failed = failedCells(results);
  const { title, reason } = verdict(results);
  const recommendations = recommend(results);
  const byPrice = recommendations.some(({ ranking }) => ranking !== 'score');
  const main = recommendations.length > 0 && !byPrice ? bestTable(recommendations) : pointsTable(results);
  const points = aggregate(results);
  const seeds = points.some((point) => !point.isOneSample)
    ? `seed${results.seeds.length === 1 ? '' : 's'} ${results.seeds.join(', ')}`
    : ONE_SAMPLE;
  const fixed = valuesLabel(fixedValues(results));
  const counts = `${results.name}: ${results.cells.length - failed.length} of ${plural(results.cells.length, 'run')} finished`;
  const lines = [
    ...wrap(seeds, COLUMNS),
    ...wrap(`${counts}${fixed === '' ? '' : `, ${fixed}`}`, COLUMNS),
    '',
    ...tableLines(main, columns),
    ...tunedLines(results, recommendations, columns),
    '',
    ...fleetLines(results, columns),
    ...wrap(title, COLUMNS),
    ...wrap(reason, COLUMNS),
    ...wrap(starvedRunsText(results), COLUMNS).filter((line) => line !== ''),
    ...deploymentLines(results, file),
    ...wrap(chartsLeftOut(results), COLUMNS).filter((line) => line !== ''),
    ...failed
      .slice(0, 5)
      .flatMap(({ id, code, message }) => wrap(`failed: ${id}: ${code} ${message}`, COLUMNS)),
    ...(failed.length > 5 ? [`… ${failed.length - 5} more failed cells in the report`] : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** The cheapest fleet, if scalers were at work. */
function fleetLines(results: SweepResults, columns: number): string[] {
  const rows = fleetRows(sweptFleets(results));
  return rows.length === 0 ? [] : [...tableLines(rows, columns), ''];
}

/** Lines to paste, and therefore not wrapped. */
function deploymentLines(results: SweepResults, file: string | undefined): string[] {
  const deployment = deploymentOf(results, file);
  if (deployment === null) return [];
  const { flags, yaml, serve } = deployment;
  return [
    '',
    `simulate, run: ${flags}`,
    `experiment:    ${yaml.replaceAll('\n', '\n               ')}`,
    `serve:         ${serve}`,
    '               (other settings of the file apply too)',
  ];
}

function bestTable(recommendations: readonly Recommendation[]): string[][] {
  const conditions = Object.keys(recommendations[0]?.conditions ?? {});
  const rows = recommendations.some(({ best }) => best.groups.length > 0)
    ? groupTable(recommendations, conditions)
    : goodputTable(recommendations, conditions);
  if (recommendations.every(({ tied }) => tied.length === 0)) return rows;
  return rows.map((row, i) => [
    ...row,
    i === 0 ? 'ties with' : choicesLabel(recommendations[i - 1]!.tied, 1) || '–',
  ]);
}

function goodputTable(recommendations: readonly Recommendation[], conditions: readonly string[]): string[][] {
  const compares = recommendations.some(({ default: usual }) => usual !== null);
  return [
    [
      ...conditions.map(keyLabel),
      ...(compares ? ['default', 'req/s'] : []),
      ...['best', 'req/s', 'attained'],
      ...(compares ? ['gain'] : []),
    ],
    ...recommendations.map(({ best, default: usual, improvement, choice }) => [
      ...conditions.map((key) => valueLabel(best.values[key] ?? '')),
      ...(compares ? [usual === null ? 'not run' : choiceLabel(usual.choice)] : []),
      ...(compares ? [formatRate(usual?.goodputRps?.mean ?? null)] : []),
      choiceLabel(choice),
      formatRate(best.goodputRps?.mean ?? null),
      formatPercent(best.attainment?.mean ?? null),
      ...(compares ? [improvement === null ? '–' : formatFactor(improvement)] : []),
    ]),
  ];
}

/** Groups served by the best choice and by another: each group if there is room, else the worst. */
function groupTable(recommendations: readonly Recommendation[], conditions: readonly string[]): string[][] {
  const names = recommendations[0]?.best.groups.map(({ name }) => name) ?? [];
  const [first] = recommendations;
  const isWeighted = first !== undefined && first.best.weighted !== null;
  const heads = isWeighted ? ['by weight'] : names.length > 2 ? ['worst group'] : names;
  const other = counterpart(recommendations);
  const compares = recommendations.some((recommendation) => other.of(recommendation) !== null);
  const side = (point: Point | null): string[] => {
    if (point === null) return ['not run', ...heads.map(() => '–')];
    if (isWeighted) return [choiceLabel(point.choice), formatPercent(scoreOf(point))];
    const shown: readonly (GroupPoint | null)[] = names.length > 2 ? [worstGroup(point)] : point.groups;
    const shares = shown.map((group) => formatPercent(group?.attainment?.mean ?? null));
    return [choiceLabel(point.choice), ...shares];
  };
  return [
    [...conditions.map(shortKey), ...(compares ? [other.name, ...heads] : []), 'best', ...heads],
    ...recommendations.map((recommendation) => [
      ...conditions.map((key) => valueLabel(recommendation.best.values[key] ?? '')),
      ...(compares ? side(other.of(recommendation)) : []),
      ...side(recommendation.best),
    ]),
  ];
}

/** Gain of the default by tuning alone, if more than that was tried. */
function tunedLines(
  results: SweepResults,
  recommendations: readonly Recommendation[],
  columns: number,
): string[] {
  const tuned = tunedDefaults(results, recommendations);
  if (tuned.length === 0 || tuned[0]!.best.groups.length > 0) return [];
  const conditions = Object.keys(tuned[0]!.default.conditions);
  const rows = tuned.map(({ default: usual, best, improvement }) => [
    ...conditions.map((key) => valueLabel(best.values[key] ?? '')),
    choiceLabel(usual.choice),
    formatRate(usual.goodputRps!.mean),
    choiceLabel(best.choice),
    formatRate(best.goodputRps!.mean),
    formatFactor(improvement),
  ]);
  const head = [...conditions.map(keyLabel), 'default', 'req/s', 'best fixed', 'req/s', 'gain'];
  return [
    '',
    'The default with its best fixed value, for comparison:',
    ...tableLines([head, ...rows], columns),
  ];
}

/** Label of a key, or the end of one that has none of its own: `concurrency`. */
function shortKey(key: string): string {
  const label = keyLabel(key);
  return label === key ? (key.split('.').at(-1) as string) : label;
}

function pointsTable(results: SweepResults): string[][] {
  const columns = pointColumns(results);
  const points = cheapestFirst(results);
  const isPriced = points.some(({ cost }) => cost !== null);
  return [
    [
      ...columns.map(({ title }) => title),
      ...['req/s', 'attained', 'p99'],
      ...(isPriced ? ['per hour', 'per million in time'] : []),
    ],
    ...points.map((point) => [
      ...columns.map(({ textOf }) => textOf(point)),
      formatRate(point.goodputRps?.mean ?? null),
      formatPercent(point.attainment?.mean ?? null),
      formatMs(point.p99Ms),
      ...(isPriced ? costTexts(point.cost) : []),
    ]),
  ];
}

/** Right-aligned columns, two spaces apart. Says which columns and rows do not fit and are left out. */
function tableLines(rows: readonly (readonly string[])[], columns: number): string[] {
  const shown = rows.slice(0, 1 + MAX_ROWS);
  const lines = alignColumns(shown, []);
  const cut = lines.some((line) => line.length > columns);
  const more = rows.length - shown.length;
  return [
    ...lines.map((line) => (line.length > columns ? `${line.slice(0, columns - 1)}…` : line)),
    ...(more > 0 ? [`… ${more} more rows in the report`] : []),
    ...(cut ? ['… wider than this terminal: the report has all columns'] : []),
  ];
}
