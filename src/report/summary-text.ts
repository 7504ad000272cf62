import type { CellResult, GroupSummary, RunResult, SweepResults } from '../metrics/results.js';
import { counterpart, failedCells, type Recommendation, recommend } from './analyze.js';
import { sweepAxes } from './axes.js';
import { choiceLabel, choiceOf } from './charts/finding.js';
import { formatCount, formatFactor, formatMs, formatPercent, formatRate, formatSlo } from './format.js';
import { aggregate, type GroupPoint, type Point, worstGroup } from './points.js';
import { keyLabel, valueLabel } from './quantity.js';
import { verdict } from './verdict.js';
import { wrap } from './wrap.js';

const COLUMNS = 80;
/** Tables on screen stop here; the files have all. */
const MAX_ROWS = 24;

/** A result for the terminal: plain text, at most 80 columns, seed first and digest last. */
export function summaryText(result: RunResult | CellResult | SweepResults): string {
  return 'cells' in result ? sweepText(result) : runText(result);
}

function runText({ summary, groups }: RunResult | CellResult): string {
  const { requests, latencyMs, actions, gpu } = summary;
  const wall = 'wall' in summary ? summary.wall : undefined;
  const batches = Object.entries(actions.inferByBatch).map(
    ([batch, count]) => `${batch}: ${formatCount(count)}`,
  );
  const lines = [
    ['seed', String(summary.seed)],
    ['run', `${summary.name}, policy ${summary.policy}, ${formatRate(summary.durationSeconds)} s`],
    [
      'goodput',
      `${formatRate(summary.goodputRps)} of ${formatRate(summary.offeredRps)} requests/s offered (${formatPercent(summary.sloAttainment)})`,
    ],
    [
      'requests',
      `${formatCount(requests.offered)}: ${(['ok', 'late', 'timeout', 'rejected', 'error'] as const).map((name) => `${formatCount(requests[name])} ${name}`).join(', ')}`,
    ],
    ...groups.map((group, i) => [i === 0 ? 'groups' : '', groupText(group)]),
    [
      'latency',
      `p50 ${formatMs(latencyMs.p50)}, p90 ${formatMs(latencyMs.p90)}, p99 ${formatMs(latencyMs.p99)}, p99.9 ${formatMs(latencyMs.p999)}, p99.99 ${formatMs(latencyMs.p9999)}, max ${formatMs(latencyMs.max)}`,
    ],
    ['batches', batches.length === 0 ? '–' : batches.join(', ')],
    [
      'actions',
      `${formatCount(actions.infer)} INFER, ${formatCount(actions.load)} LOAD, ${formatCount(actions.unload)} UNLOAD, ${formatCount(actions.tooLate)} too late`,
    ],
    [
      'GPU',
      `EXEC busy ${formatPercent(gpu.execUtilization)}, WEIGHTS ${formatPercent(gpu.weightsUtilization)}; ${formatCount(summary.coldStarts)} cold starts`,
    ],
    ...(wall === undefined
      ? []
      : [
          [
            'speed',
            `${wall.seconds.toFixed(2)} s, ${formatCount(wall.requestsPerSecond)} requests/s, ${formatCount(wall.peakRssBytes / 2 ** 20)} MiB`,
          ],
        ]),
    ['digest', summary.digest],
  ] as [string, string][];
  return `${lines.map(([name, value]) => labelled(name, value)).join('\n')}\n`;
}

/** `interactive: 198.5/s (100 %) in 50 ms, p50 16.3 ms, p99 25.4 ms`. */
function groupText({ name, sloMs, goodputRps, sloAttainment, latencyMs }: GroupSummary): string {
  const rate = `${formatRate(goodputRps)}/s (${formatPercent(sloAttainment)})`;
  const objective = sloMs === null ? 'in time' : `in ${formatSlo(sloMs)}`;
  return `${name}: ${rate} ${objective}, p50 ${formatMs(latencyMs.p50)}, p99 ${formatMs(latencyMs.p99)}`;
}

/** `name      value`, wrapped under itself. */
function labelled(name: string, value: string): string {
  const indent = 10;
  return wrap(value, COLUMNS - indent)
    .map((line, i) => `${(i === 0 ? name : '').padEnd(indent)}${line}`)
    .join('\n');
}

function sweepText(results: SweepResults): string {
  const failed = failedCells(results);
  const { title, reason } = verdict(results);
  const [head, ...rows] = recommend(results).length > 0 ? bestTable(results) : pointsTable(results);
  const shown = rows.slice(0, MAX_ROWS);
  const seeds = `seed${results.seeds.length === 1 ? '' : 's'} ${results.seeds.join(', ')}`;
  const counts = `${results.name}: ${results.cells.length - failed.length} of ${results.cells.length} runs finished`;
  return [
    ...wrap(seeds, COLUMNS),
    ...wrap(counts, COLUMNS),
    '',
    ...aligned([head ?? [], ...shown]),
    ...(rows.length > shown.length ? [`… ${rows.length - shown.length} more rows in the report`] : []),
    '',
    ...wrap(title, COLUMNS),
    ...wrap(reason, COLUMNS),
    ...failed
      .slice(0, 5)
      .flatMap(({ id, code, message }) => wrap(`failed: ${id}: ${code} ${message}`, COLUMNS)),
    ...(failed.length > 5 ? [`… ${failed.length - 5} more failed cells in the report`] : []),
    '',
  ].join('\n');
}

function bestTable(results: SweepResults): string[][] {
  const recommendations = recommend(results);
  const conditions = Object.keys(recommendations[0]?.conditions ?? {});
  if (recommendations.some(({ best }) => best.groups.length > 0)) {
    return groupTable(recommendations, conditions);
  }
  const head = [...conditions.map(keyLabel), 'default', 'req/s', 'best', 'req/s', 'attained', 'gain'];
  return [
    head,
    ...recommendations.map((recommendation) => {
      const { best, default: usual, improvement, choice } = recommendation;
      return [
        ...conditions.map((key) => valueLabel(best.values[key] ?? '')),
        usual === null ? 'not run' : choiceLabel(choiceOf(usual, recommendation)),
        usual === null ? '–' : formatRate(usual.goodputRps.mean),
        choiceLabel(choice),
        formatRate(best.goodputRps.mean),
        formatPercent(best.sloAttainment.mean),
        improvement === null ? '–' : formatFactor(improvement),
      ];
    }),
  ];
}

/** Who is served by the best choice and by another: each group where there is room, else the worst. */
function groupTable(recommendations: readonly Recommendation[], conditions: readonly string[]): string[][] {
  const names = recommendations[0]?.best.groups.map(({ name }) => name) ?? [];
  const heads = names.length > 2 ? ['worst group'] : names;
  const other = counterpart(recommendations);
  const side = (point: Point | null, recommendation: Recommendation): string[] => {
    if (point === null) return ['not run', ...heads.map(() => '–')];
    const shown: readonly (GroupPoint | null)[] = names.length > 2 ? [worstGroup(point)] : point.groups;
    const shares = shown.map((group) => formatPercent(group?.sloAttainment.mean ?? 0));
    return [choiceLabel(choiceOf(point, recommendation)), ...shares];
  };
  return [
    [...conditions.map(shortKey), other.name, ...heads, 'best', ...heads],
    ...recommendations.map((recommendation) => [
      ...conditions.map((key) => valueLabel(recommendation.best.values[key] ?? '')),
      ...side(other.of(recommendation), recommendation),
      ...side(recommendation.best, recommendation),
    ]),
  ];
}

/** The label of a key, or the end of one that has none of its own: `concurrency`. */
function shortKey(key: string): string {
  const label = keyLabel(key);
  return label === key ? (key.split('.').at(-1) as string) : label;
}

function pointsTable(results: SweepResults): string[][] {
  const axes = sweepAxes(results);
  const cells = (point: Point) => axes.map((axis) => valueLabel(point.values[axis.key] ?? ''));
  return [
    [...axes.map((axis) => axis.label), 'req/s', 'attained', 'p99'],
    ...aggregate(results).map((point) => [
      ...cells(point),
      formatRate(point.goodputRps.mean),
      formatPercent(point.sloAttainment.mean),
      formatMs(point.p99Ms?.mean ?? null),
    ]),
  ];
}

/** Columns to the right, two spaces apart; rows too long for the terminal are cut. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => (row[i] ?? '').length)));
  return rows.map((row) => {
    const line = row.map((text, i) => text.padStart(widths[i] ?? 0)).join('  ');
    return line.length > COLUMNS ? `${line.slice(0, COLUMNS - 1)}…` : line;
  });
}
