import { CAUSE_LABELS, CAUSE_MEANINGS, CAUSES } from '../../record/causes.js';
import { DIMENSIONS } from '../../record/dimensions.js';
import { figureOf, type MeasuredSummary } from '../../record/figures.js';
import { LATENCY_NAMES, offeredMs } from '../../record/latency.js';
import { FEWEST_REQUESTS } from '../../record/model-fairness.js';
import type { CellResult, LatencyMs, RunResult } from '../../record/results.js';
import { FURTHER_COUNTS } from '../../record/schema-summary.js';
import {
  formatCount,
  formatMs,
  formatPercent,
  formatPerSecond,
  formatRate,
  formatSlo,
} from '../../text/numbers.js';
import { capital } from '../../text/words.js';
import { breakdownsOf, breakdownTable, failingModels } from '../breakdown.js';
import { type Block, countCell, type Document, type Section } from '../document.js';
import { failuresText, generatorLines, generatorWarnings, hurtModels, modelsText } from '../generator.js';
import { costText, scalingText } from '../quantity.js';
import { commandOf, kindText, quoted, runName, WHAT_REPEATS } from '../reproduce.js';
import { attainmentText, ONE_SAMPLE } from '../statistics.js';
import { groupPoint } from '../study/points.js';
import { servedGroups } from '../study/verdict.js';
import { experimentToRun, policyNotes } from './blocks.js';

/** More events would make a page long. */
const MOST_EVENTS = 200;

const READINGS =
  'Latency is over all offered requests: one that was not answered in time counts as infinitely late, so a percentile that falls on one reads “never”. Executed: only those that ran.';

/** Report of one run: its figures, a table per dimension of its requests, failures, charts and provenance. */
export function runDocument(run: RunResult | CellResult): Document {
  const { summary, sloMs } = run;
  const within = sloMs === null ? 'their SLO' : `their SLO of ${formatSlo(sloMs)}`;
  const { requests, goodputRps, attainment } = summary;
  const rate =
    goodputRps === null
      ? `${formatCount(requests.ok)} of ${formatCount(requests.offered)} requests`
      : `${formatRate(goodputRps)} requests/s`;
  return {
    kind: [kindText(run), summary.name, summary.policy ?? []].flat().join(' · '),
    title:
      attainment === null
        ? 'No request was offered'
        : summary.by.group !== undefined
          ? servedGroups({ groups: summary.by.group.map(groupPoint) })
          : `${rate} within ${within}`,
    lead: [],
    sections: [
      { title: '', blocks: [...warnings(run), ...policyNotes([summary])], only: 'page' },
      { title: 'Figures', blocks: [{ list: figureList(run) }] },
      { title: '', blocks: [{ text: READINGS, tone: 'small' }], only: 'page' },
      ...breakdownsOf(summary.by).map((breakdown) => ({
        title: `By ${DIMENSIONS[breakdown.dimension].label}`,
        blocks: [{ table: breakdownTable(breakdown) }],
      })),
      ...failureSection(run),
      { title: 'Charts', blocks: [{ charts: true }] },
      ...eventsSection(run),
      ...('experiment' in run
        ? [{ title: 'Reproduce', blocks: reproduction(run), only: 'page' as const }]
        : []),
    ],
  };
}

/** Figures of a run by name: seed first, digest last. */
function figureList(run: RunResult | CellResult): [string, string][] {
  const { summary } = run;
  const { requests, policy, digest, cancelled, answers = [] } = summary;
  const wall = 'wall' in summary ? summary.wall : undefined;
  const parts = [runName(summary), kindText(run), ...(policy === undefined ? [] : [`policy ${policy}`])];
  const outcomes = (['ok', 'late', 'timeout', 'rejected', 'error'] as const).map(
    (name) => `${formatCount(requests[name])} ${name}`,
  );
  const lines: [string, string | null][] = [
    ['seed', String(summary.seed)],
    ['run', `${parts.join(', ')}, ${formatRate(summary.durationSeconds)} s`],
    [
      'goodput',
      `${formatRate(summary.goodputRps)} of ${formatRate(summary.offeredRps)} requests/s offered (${attainmentText(run)})`,
    ],
    ['weighted', weightedText(summary)],
    ['accuracy', accuracyText(summary)],
    ['sample', run.slices?.oneSample === true ? ONE_SAMPLE : null],
    ['requests', `${formatCount(requests.offered)}: ${outcomes.join(', ')}`],
    ['cancelled', cancelled === undefined ? null : `${formatCount(cancelled)}, not offered`],
    ['failed', failuresText(summary) || null],
    ['models', modelsText(summary) || null],
    ...latencyLines(summary),
    ...schedulerLines(summary),
    ...answers.map(({ status, count, message }, i): [string, string] => [
      i === 0 ? 'answers' : '',
      `${status}: ${formatCount(count)}${message === '' ? '' : `, e.g. "${message}"`}`,
    ]),
    [
      'speed',
      wall === undefined
        ? null
        : `${wall.seconds.toFixed(2)} s, ${formatCount(wall.processedRps)} requests/s${wall.peakRssBytes === null ? '' : `, ${formatCount(wall.peakRssBytes / 2 ** 20)} MiB`}`,
    ],
    ['digest', digest ?? null],
  ];
  return lines.flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
}

function weightedText({ by, weightedGoodputRps = null, weightedAttainment = null }: MeasuredSummary) {
  if (by.class === undefined) return null;
  return `${formatPerSecond(weightedGoodputRps)} (${formatPercent(weightedAttainment)} of what was offered)`;
}

function accuracyText({ accuracy, accurateAttainment }: MeasuredSummary) {
  if (accuracy === undefined) return null;
  const whole = formatPercent(accurateAttainment ?? null);
  return `${formatPercent(accuracy)}, ${figureOf('accurateAttainment')!.label} ${whole}`;
}

/** Leaves out figures that a client does not see. */
function schedulerLines(summary: MeasuredSummary): [string, string | null][] {
  const { actions, gpu, cost, scaling } = summary;
  if (actions === undefined || gpu === undefined) return [];
  const counts = FURTHER_COUNTS.flatMap((name) =>
    summary[name] === undefined
      ? []
      : `${formatCount(summary[name])} ${figureOf(name)!.label.replace(/s$/, summary[name] === 1 ? '' : 's')}`,
  );
  const batches = Object.entries(actions.inferByBatch).map(
    ([size, count]) => `${size}: ${formatCount(count)}`,
  );
  return [
    ['batches', batches.join(', ') || '–'],
    [
      'actions',
      `${formatCount(actions.infer)} INFER, ${formatCount(actions.load)} LOAD, ${formatCount(actions.unload)} UNLOAD, ${formatCount(actions.tooLate)} too late`,
    ],
    [
      'GPU',
      `EXEC busy ${formatPercent(gpu.execUtilization)}, WEIGHTS ${formatPercent(gpu.weightsUtilization)}; ${counts.join(', ')}`,
    ],
    ['scaler', scaling === undefined ? null : scalingText(scaling)],
    ['cost', cost === undefined ? null : costText(cost)],
  ];
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

/** Quality of request sending; what spoils figures is a warning. */
function warnings(run: RunResult | CellResult): Block[] {
  return [
    ...generatorWarnings(run).map((text) => ({ text: `Warning: ${text}.`, tone: 'alert' as const })),
    ...generatorLines(run).map((line) => ({ text: `${capital(line)}.`, tone: 'small' as const })),
  ];
}

/** Failures by cause and by model, the worst-served first, and how to look at single requests. */
function failureSection({ summary }: RunResult | CellResult): Section[] {
  const { failures, requests, by } = summary;
  const hurt = hurtModels(by.model);
  const models = failingModels(hurt);
  if (models === null) return [];
  const byCause = {
    columns: [
      { title: 'cause' },
      { title: 'requests', numeric: true },
      { title: 'share', numeric: true },
      { title: 'meaning', wraps: true },
    ],
    rows: CAUSES.filter((cause) => (failures?.[cause] ?? 0) > 0).map((cause) => [
      { text: CAUSE_LABELS[cause] },
      countCell(failures?.[cause]),
      { text: formatPercent((failures?.[cause] ?? 0) / requests.offered) },
      { text: CAUSE_MEANINGS[cause] },
    ]),
  };
  const more = hurtModels(by.model, by.model.length).length - hurt.length;
  return [
    {
      title: 'Failures',
      only: 'page',
      blocks: [
        ...(failures === undefined ? [] : [{ table: byCause }]),
        { table: breakdownTable(models) },
        {
          text: `Models with fewer than ${FEWEST_REQUESTS} requests come last.${more > 0 ? ` ${formatCount(more)} more models had failed requests: run.json lists all.` : ''}`,
          tone: 'small',
        },
        ...(failures === undefined ? [] : [{ code: `escapement explain . --model ${quoted(hurt[0]!.key)}` }]),
      ],
    },
  ];
}

/** Events of GPUs, including why a scaler wanted another number of them. */
function eventsSection({ events = [] }: RunResult | CellResult): Section[] {
  if (events.length === 0) return [];
  const table = {
    columns: [
      { title: 'At, s', numeric: true },
      { title: 'What happened to GPUs', wraps: true },
    ],
    rows: events.slice(0, MOST_EVENTS).map(({ atSeconds, text }) => [countCell(atSeconds), { text }]),
  };
  const details = `Events: ${formatCount(table.rows.length)} of ${formatCount(events.length)}`;
  return [{ title: '', only: 'page', blocks: [{ details, blocks: [{ table }] }] }];
}

function reproduction(run: RunResult): Block[] {
  const { summary, experiment, origin } = run;
  return [
    ...experimentToRun(experiment, commandOf(run)),
    {
      list: [
        ['Seed', String(summary.seed)],
        ...(summary.digest === undefined ? [] : [['Decision digest', summary.digest] as const]),
        ...(origin === undefined ? [] : [['escapement', origin.escapement] as const]),
        ...Object.entries(origin?.environment ?? {}),
      ],
    },
    { text: WHAT_REPEATS[summary.kind], tone: 'small' },
  ];
}
