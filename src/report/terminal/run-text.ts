import { type MeasuredSummary, offeredMs } from '../../record/figures.js';
import { LATENCY_NAMES } from '../../record/percentiles.js';
import type {
  CellResult,
  ClassFigures,
  GroupSummary,
  KindFigures,
  LatencyMs,
  LengthFigures,
  RunResult,
  ScalingFigures,
  TenantFigures,
} from '../../record/results.js';
import {
  formatCount,
  formatMs,
  formatPercent,
  formatPerSecond,
  formatRate,
  formatSlo,
  round3,
} from '../../text/numbers.js';
import { hanging } from '../../text/terminal.js';
import { COLUMNS } from '../../text/wrap.js';
import { costText, flappingNote, scalingText } from '../cost-text.js';
import { failuresText, limitTexts, modelsText } from '../hurt-text.js';
import { kindText, runName } from '../run-kind.js';
import { attainmentText, goodputText, ONE_SAMPLE } from '../statistics.js';

/** One run for the terminal, as plain text: seed first, digest last, sentences wrapped at 80 columns. */
export function runText(run: RunResult | CellResult): string {
  const { summary, groups } = run;
  const { requests, policy, digest } = summary;
  const wall = 'wall' in summary ? summary.wall : undefined;
  const parts = [runName(summary), kindText(run), ...(policy === undefined ? [] : [`policy ${policy}`])];
  const lines = [
    ['seed', String(summary.seed)],
    ['run', `${parts.join(', ')}, ${formatRate(summary.durationSeconds)} s`],
    [
      'goodput',
      `${goodputText(run)} of ${formatRate(summary.offeredRps)} requests/s offered (${attainmentText(run)})`,
    ],
    ...(run.slices === undefined ? [] : [['sample', ONE_SAMPLE]]),
    [
      'requests',
      `${formatCount(requests.offered)}: ${(['ok', 'late', 'timeout', 'rejected', 'error'] as const).map((name) => `${formatCount(requests[name])} ${name}`).join(', ')}`,
    ],
    ...(summary.cancelled === undefined
      ? []
      : [['cancelled', `${formatCount(summary.cancelled)}, not offered`]]),
    ...[['failed', failuresText(summary)] as const, ['models', modelsText(summary)] as const].filter(
      ([, text]) => text !== '',
    ),
    ...classLines(summary),
    ...tenantLines(summary),
    ...groups.map((group, i) => [i === 0 ? 'groups' : '', groupText(group)]),
    ...lengthLines(run.lengths),
    ...latencyLines(summary),
    ...schedulerLines(summary),
    ...answerLines(summary),
    ...(wall === undefined
      ? []
      : [
          [
            'speed',
            `${wall.seconds.toFixed(2)} s, ${formatCount(wall.processedRps)} requests/s${memoryText(wall.peakRssBytes)}`,
          ],
        ]),
    ...(digest === undefined ? [] : [['digest', digest]]),
  ] as [string, string][];
  return `${lines.map(([name, value]) => labelled(name, value)).join('\n')}\n`;
}

/** Results of each class, by weight. */
function classLines(summary: MeasuredSummary) {
  const { classes = [], weightedGoodputRps = null, weightedAttainment = null } = summary;
  if (classes.length === 0) return [];
  return [
    [
      'weighted',
      `${formatPerSecond(weightedGoodputRps)} (${formatPercent(weightedAttainment)} of what was offered)`,
    ],
    ...classes.map((each, i) => [i === 0 ? 'classes' : '', classText(each)]),
  ];
}

/** `gold × 10: 198.5/s (100 %) in time, 21 % of GPU time, p99 25.4 ms`; a client does not see GPU time. */
function classText(figures: ClassFigures): string {
  const { name, weight, share, goodputRps, attainment, gpuShare, requests } = figures;
  if (requests.offered === 0) return `${name} × ${weight}: nothing offered`;
  const guaranteed = share === 0 ? '' : ` (${formatPercent(share)} guaranteed)`;
  const rate = `${formatPerSecond(goodputRps)} (${formatPercent(attainment)}) in time`;
  const ofGpus = gpuShare === null ? '' : `, ${formatPercent(gpuShare)} of GPU time${guaranteed}`;
  return `${name} × ${weight}: ${rate}${ofGpus}, p99 ${formatMs(offeredMs(figures, 'p99'))}`;
}

/** `up to 64: 12,000, 99 % in time, p50 8.1 ms, p99 24 ms executed`, a line for each length. */
function lengthLines(lengths: readonly LengthFigures[] = []): [string, string][] {
  return lengths.map(({ length, offered, attainment, executedP50Ms, executedP99Ms }, i) => [
    i === 0 ? 'lengths' : '',
    offered === 0
      ? `up to ${formatCount(length)}: nothing offered`
      : `up to ${formatCount(length)}: ${formatCount(offered)}, ${formatPercent(attainment)} in time, executed p50 ${formatMs(executedP50Ms)}, p99 ${formatMs(executedP99Ms)}`,
  ]);
}

function tenantLines({ tenants = [] }: MeasuredSummary): [string, string][] {
  return tenants.map((each, i) => [i === 0 ? 'tenants' : '', tenantText(each, tenants.length === 1)]);
}

/** `acme: 198.5/s (80.2 %) in time, 21 % of GPU time (share 25 %), 1,200 beyond its rate, p99 25.4 ms`. */
function tenantText(figures: TenantFigures, only: boolean): string {
  const { name, goodputRps, attainment, share, gpuShare, requests } = figures;
  if (requests.offered === 0) return `${name}: nothing offered`;
  const configured = share === null || only ? '' : ` (share ${formatPercent(share)})`;
  const parts = [
    `${formatPerSecond(goodputRps)} (${formatPercent(attainment)}) in time`,
    ...(gpuShare === null ? [] : [`${formatPercent(gpuShare)} of GPU time${configured}`]),
    ...limitTexts(figures),
    `p99 ${formatMs(offeredMs(figures, 'p99'))}`,
  ];
  return `${name}: ${parts.join(', ')}`;
}

function memoryText(bytes: number | null): string {
  return bytes === null ? '' : `, ${formatCount(bytes / 2 ** 20)} MiB`;
}

/** A server's answers, with an example of each failure. */
function answerLines({ answers = [] }: MeasuredSummary): [string, string][] {
  return answers.map(({ status, count, message }, i) => {
    const example = message === '' ? '' : `, e.g. "${message}"`;
    return [i === 0 ? 'answers' : '', `${status}: ${formatCount(count)}${example}`];
  });
}

function scalerLines(scaling: ScalingFigures): [string, string][] {
  const note = flappingNote(scaling);
  return [['scaler', scalingText(scaling)], ...(note === null ? [] : [['note', note] as [string, string]])];
}

/** Leaves out figures that a client does not see. */
function schedulerLines(summary: MeasuredSummary): [string, string][] {
  const { actions, gpu, coldStarts, kinds = [], kindsNote, cost, scaling } = summary;
  if (actions === undefined || gpu === undefined || coldStarts === undefined) return [];
  const batches = Object.entries(actions.inferByBatch).map(
    ([batch, count]) => `${batch}: ${formatCount(count)}`,
  );
  return [
    ['batches', batches.length === 0 ? '–' : batches.join(', ')],
    [
      'actions',
      `${formatCount(actions.infer)} INFER, ${formatCount(actions.load)} LOAD, ${formatCount(actions.unload)} UNLOAD, ${formatCount(actions.tooLate)} too late`,
    ],
    [
      'GPU',
      `EXEC busy ${formatPercent(gpu.execUtilization)}, WEIGHTS ${formatPercent(gpu.weightsUtilization)}; ${formatCount(coldStarts)} cold starts`,
    ],
    ...kinds.map((kind, i): [string, string] => [i === 0 ? 'kinds' : '', kindLine(kind)]),
    ...(kindsNote === undefined ? [] : [['note', kindsNote] as [string, string]]),
    ...(scaling === undefined ? [] : scalerLines(scaling)),
    ...(cost === undefined ? [] : [['cost', costText(cost)] as [string, string]]),
  ];
}

/** `4 × v100: 210,000 ok, EXEC busy 80 %, WEIGHTS 3 %`. */
function kindLine({ kind, gpus, gpuHours, ok, execUtilization, weightsUtilization }: KindFigures): string {
  return `${gpuHours === undefined ? '' : `${round3(gpuHours)} GPU-hours, up to `}${gpus} × ${kind}: ${formatCount(ok)} ok, EXEC busy ${formatPercent(execUtilization)}, WEIGHTS ${formatPercent(weightsUtilization)}`;
}

/** Latency of all offered requests; the executed ones on their own line if the others change the figures. */
function latencyLines(summary: MeasuredSummary): [string, string][] {
  const { requests, executedLatencyMs } = summary;
  const { mean: _, ...shown } = LATENCY_NAMES;
  const names = Object.entries(shown) as [keyof LatencyMs, string][];
  const text = (read: (name: keyof LatencyMs) => number | null) => {
    const never = names.findIndex(([name]) => read(name) === Number.POSITIVE_INFINITY);
    const reached = (never < 0 ? names : names.slice(0, never)).map(
      ([name, label]) => `${label} ${formatMs(read(name))}`,
    );
    return [...reached, ...(never < 0 ? [] : [`${names[never]![1]} and above never`])].join(', ');
  };
  const offered = text((name) => offeredMs(summary, name));
  if (requests.ok === requests.offered) return [['latency', offered]];
  return [
    ['latency', `${offered}, of all offered requests`],
    ['executed', text((name) => executedLatencyMs[name])],
  ];
}

/** `interactive: 198.5/s (100 %) in 50 ms, p50 16.3 ms, p99 25.4 ms`. */
function groupText(group: GroupSummary): string {
  const { name, sloMs, goodputRps } = group;
  const rate = `${formatPerSecond(goodputRps)} (${formatPercent(group.attainment)})`;
  const within = sloMs === null ? 'in time' : `in ${formatSlo(sloMs)}`;
  return `${name}: ${rate} ${within}, p50 ${formatMs(offeredMs(group, 'p50'))}, p99 ${formatMs(offeredMs(group, 'p99'))}`;
}

/** `name      value`, wrapped under itself. */
function labelled(name: string, value: string): string {
  return hanging(name, value, 10, COLUMNS).join('\n');
}
