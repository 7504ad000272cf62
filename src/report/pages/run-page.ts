import { offeredMs } from '../../record/figures.js';
import { LATENCY_NAMES } from '../../record/percentiles.js';
import type {
  ActionCounts,
  AnswerCount,
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
} from '../../text/numbers.js';
import { capital } from '../../text/words.js';
import { costText, flappingNote, scalingText } from '../cost-text.js';
import { generatorLines, generatorWarnings } from '../generator.js';
import { html, type Markup } from '../html/markup.js';
import { gallery, type PageChart, page } from '../html/page.js';
import { experimentToRun, facts, msCell, rateCell, section, shareCell, table } from '../html/parts.js';
import { commandOf, kindText, whatRepeats } from '../run-kind.js';
import { attainmentText, goodputText, ONE_SAMPLE } from '../statistics.js';
import { servedGroups } from '../study/finding.js';
import { groupPoint } from '../study/points.js';
import { decisionsTable } from './decisions-table.js';
import { hurtSection } from './hurt-section.js';
import { policyNotes } from './policy-notes.js';

const LATENCY_READINGS =
  'All offered: a request that was not answered in time (late, timeout, rejected, error) counts as infinitely late, so a percentile that falls on one reads “never”. Executed only: other requests are left out.';

/** The report of one run: headline figures, charts, tables and provenance. */
export function runPage(run: RunResult, charts: readonly PageChart[]): string {
  const { summary, groups } = run;
  const title = titleOf(run);
  const sending = [
    ...generatorWarnings(run).map((warning) => `Warning: ${warning}.`),
    ...generatorLines(run).map((line) => `${line[0].toUpperCase()}${line.slice(1)}.`),
  ];
  const rate = `${formatRate(summary.goodputRps)} of ${formatRate(summary.offeredRps)} requests/s`;
  const body = html`<header>
<p class="kind">${kindText(run)} · ${summary.name}${summary.policy === undefined ? '' : ` · ${summary.policy}`}</p>
<h1>${title}</h1>
<p>${summary.attainment === null ? 'No request arrived in the measured time.' : `${groups.length === 0 ? '' : `${rate} over all groups: `}${formatPercent(summary.attainment)} of ${formatCount(summary.requests.offered)} requests offered in ${formatRate(summary.durationSeconds)} s were answered in time.`}</p>
${facts(headlineFacts(run))}
${policyNotes([summary])}</header>
${groups.length === 0 ? '' : section('Groups', groupsTable(groups))}
${summary.classes === undefined ? '' : section('Classes', classesTable(summary))}
${summary.tenants === undefined ? '' : section('Tenants', tenantsTable(summary.tenants))}
${hurtSection(run)}
${run.lengths === undefined ? '' : section('Lengths of inputs', lengthsTable(run.lengths))}
${section('Charts', gallery(charts))}
${section('Latency', latencyTable(run))}
${section('Requests', requestsTable(run))}
${summary.actions === undefined ? '' : section('Actions', actionsTable(summary.actions))}
${summary.kinds === undefined ? '' : section('Kinds of GPUs', kindsTable(summary.kinds, summary))}
${summary.scaling === undefined ? '' : section('Scaler', html`<p>${scalingText(summary.scaling)}.</p>${flapping(summary.scaling)}${run.fleet === undefined ? '' : decisionsTable(run.fleet)}`)}
${summary.answers === undefined ? '' : section('Answers of the server', answersTable(summary.answers))}
${sending.length === 0 ? '' : section('Sending of requests', html`<ul>${sending.map((line) => html`<li>${line}</li>`)}</ul>`)}
${section('Reproduce', reproduction(run))}`;
  return page(`${summary.name}: ${title}`, body, charts.length > 0);
}

/** Goodput; with groups the results of each, because their sum hides them. */
function titleOf({ summary, sloMs, groups }: RunResult): string {
  if (groups.length > 0) return servedGroups({ groups: groups.map((group) => groupPoint(group)) });
  const within = sloMs === null ? 'their SLO' : `their SLO of ${formatSlo(sloMs)}`;
  const { requests, goodputRps } = summary;
  const answered =
    goodputRps === null
      ? `${formatCount(requests.ok)} of ${formatCount(requests.offered)} requests`
      : `${formatRate(goodputRps)} requests/s`;
  return `${answered} within ${within}`;
}

function headlineFacts(run: RunResult) {
  const { summary, groups } = run;
  const ofAll = groups.length === 0 ? 'of all offered requests' : 'of all offered requests, all groups';
  return [
    {
      label: 'Goodput',
      value: summary.goodputRps === null ? '–' : `${goodputText(run)}/s`,
      note: `of ${formatPerSecond(summary.offeredRps)} offered`,
    },
    { label: 'SLO attainment', value: attainmentText(run), note: ofAll },
    ...(run.slices === undefined
      ? []
      : [{ label: 'Seeds', value: 'none', note: `${ONE_SAMPLE}; ± from its time slices` }]),
    {
      label: 'p99 latency',
      value: formatMs(offeredMs(summary, 'p99')),
      note: `of all offered requests; of executed ones ${formatMs(summary.executedLatencyMs.p99)}`,
    },
    ...(summary.gpu === undefined
      ? []
      : [
          {
            label: 'GPU busy',
            value: formatPercent(summary.gpu.execUtilization),
            note: `weights lane ${formatPercent(summary.gpu.weightsUtilization)}`,
          },
        ]),
  ];
}

function latencyTable({ summary }: RunResult): Markup {
  const rows = (Object.entries(LATENCY_NAMES) as [keyof LatencyMs, string][]).map(([name, label]) => [
    { text: label },
    { text: formatMs(offeredMs(summary, name)) },
    { text: formatMs(summary.executedLatencyMs[name]) },
  ]);
  const columns = [
    { title: 'Latency' },
    ...['All offered', 'Executed only'].map((title) => ({ title, numeric: true })),
  ];
  return html`${table(columns, rows)}
<p class="small">${LATENCY_READINGS}</p>`;
}

function requestsTable({ summary }: RunResult): Markup {
  const { offered, ...outcomes } = summary.requests;
  const { coldStarts } = summary;
  const rows = Object.entries({ ...outcomes, offered }).map(([name, count]) => [
    { text: name },
    { text: formatCount(count) },
    { text: offered === 0 ? '–' : formatPercent(count / offered) },
  ]);
  return html`${table([{ title: 'Outcome' }, { title: 'Requests', numeric: true }, { title: 'Share', numeric: true }], rows)}${coldStarts === undefined ? '' : html`\n<p class="small">${formatCount(coldStarts)} cold starts: requests that arrived while no GPU held their model.</p>`}`;
}

function groupsTable(groups: readonly GroupSummary[]): Markup {
  const columns = [
    { title: 'Group' },
    ...['SLO', 'Offered (req/s)', 'Goodput (req/s)', 'Attained', 'p50', 'p99', 'p99.99'].map((title) => ({
      title,
      numeric: true,
    })),
  ];
  const rows = groups.map((group) => [
    { text: group.name },
    { text: group.sloMs === null ? 'own' : formatSlo(group.sloMs), sort: group.sloMs ?? -1 },
    rateCell(group.offeredRps),
    rateCell(group.goodputRps),
    shareCell(group.attainment),
    ...(['p50', 'p99', 'p9999'] as const).map((percentile) => msCell(offeredMs(group, percentile))),
  ]);
  return table(columns, rows, true);
}

function lengthsTable(lengths: readonly LengthFigures[]): Markup {
  const columns = ['Padded to at least', 'Requests', 'In time', 'Attained', 'p50', 'p99'].map((title) => ({
    title,
    numeric: true,
  }));
  const rows = lengths.map(({ length, offered, ok, attainment, executedP50Ms, executedP99Ms }) => [
    { text: formatCount(length), sort: length },
    { text: formatCount(offered), sort: offered },
    { text: formatCount(ok), sort: ok },
    shareCell(attainment),
    ...[executedP50Ms, executedP99Ms].map(msCell),
  ]);
  return html`${table(columns, rows, true)}
<p class="small">Latencies are those of executed requests.</p>`;
}

function answersTable(answers: readonly AnswerCount[]): Markup {
  const columns = [
    { title: 'Status' },
    { title: 'Requests', numeric: true },
    { title: 'First message of the server' },
  ];
  return table(
    columns,
    answers.map(({ status, count, message }) => [
      { text: status },
      { text: formatCount(count) },
      { text: message },
    ]),
  );
}

function actionsTable(actions: ActionCounts): Markup {
  const rows = [
    ['INFER', actions.infer] as const,
    ...Object.entries(actions.inferByBatch).map(
      ([batch, count]) => [`of batch size ${batch}`, count] as const,
    ),
    ['LOAD', actions.load] as const,
    ['UNLOAD', actions.unload] as const,
    ['missed their window', actions.tooLate] as const,
  ];
  const columns = [{ title: 'Action' }, { title: 'Count', numeric: true }];
  return table(
    columns,
    rows.map(([name, count]) => [{ text: name }, { text: formatCount(count) }]),
  );
}

/** Results of each class, by weight. */
function classesTable({
  classes = [],
  weightedGoodputRps = null,
  weightedAttainment = null,
  gpu,
}: RunResult['summary']): Markup {
  // A client does not see GPUs.
  const ofGpus = gpu === undefined ? [] : ['GPU time', 'Guaranteed'];
  const columns = [
    { title: 'Class' },
    ...['Weight', 'Offered/s', 'In time/s', 'Attainment', ...ofGpus, 'p50', 'p99'].map((title) => ({
      title,
      numeric: true,
    })),
  ];
  const rows = classes.map((each) => [
    { text: each.name },
    { text: String(each.weight) },
    { text: formatRate(each.offeredRps) },
    { text: formatRate(each.goodputRps) },
    shareCell(each.attainment),
    ...(gpu === undefined
      ? []
      : [
          { text: formatPercent(each.gpuShare) },
          { text: each.share === 0 ? '–' : formatPercent(each.share) },
        ]),
    { text: formatMs(offeredMs(each, 'p50')) },
    { text: formatMs(offeredMs(each, 'p99')) },
  ]);
  const weighted = `Weighted goodput: ${formatPerSecond(weightedGoodputRps)}, ${formatPercent(weightedAttainment)} of what was offered.`;
  const time =
    gpu === undefined ? '' : ' GPU time is that of INFERs, which the requests of a batch share evenly.';
  return html`${table(columns, rows)}
<p class="small">${weighted}${time}</p>`;
}

/** Results and limits of each tenant. */
function tenantsTable(tenants: readonly TenantFigures[]): Markup {
  const columns = [
    { title: 'Tenant' },
    ...[
      ...['Offered/s', 'In time/s', 'Attainment', 'GPU time', 'Share'],
      ...['Beyond its rate', 'Beyond its share', 'p50', 'p99'],
    ].map((title) => ({ title, numeric: true })),
  ];
  const rows = tenants.map((each) => [
    { text: each.name },
    rateCell(each.offeredRps),
    rateCell(each.goodputRps),
    ...[each.attainment, each.gpuShare, each.share].map(shareCell),
    ...[each.overRate, each.overShare].map((count) =>
      count === null ? { text: '–', sort: -1 } : { text: formatCount(count), sort: count },
    ),
    ...(['p50', 'p99'] as const).map((name) => msCell(offeredMs(each, name))),
  ]);
  return html`${table(columns, rows, true)}
<p class="small">GPU time is that of INFERs, which the requests of a batch share evenly. Share: what a tenant may have of it while all ask for more; what some leave goes to the others.</p>`;
}

function kindsTable(kinds: readonly KindFigures[], { cost }: Pick<RunResult['summary'], 'cost'>): Markup {
  const columns = [
    { title: 'Kind' },
    ...['GPUs', 'Requests in time', 'INFER', 'EXEC busy', 'WEIGHTS busy'].map((title) => ({
      title,
      numeric: true,
    })),
  ];
  const rows = kinds.map(({ kind, gpus, ok, infer, execUtilization, weightsUtilization }) => [
    { text: kind },
    { text: formatCount(gpus) },
    { text: formatCount(ok) },
    { text: formatCount(infer) },
    { text: formatPercent(execUtilization) },
    { text: formatPercent(weightsUtilization) },
  ]);
  return html`${table(columns, rows)}${cost === undefined ? '' : html`\n<p class="small">Cost: ${costText(cost)}.</p>`}`;
}

function reproduction(run: RunResult): Markup {
  const { summary, experiment, origin } = run;
  const facts = [
    ['Seed', String(summary.seed)],
    ...(summary.digest === undefined ? [] : [['Decision digest', summary.digest]]),
    ...(origin === undefined ? [] : [['escapement', origin.escapement]]),
    ...Object.entries(origin?.environment ?? {}),
  ] as const;
  const provenance = table(
    facts.map(([title]) => ({ title: title as string })),
    [facts.map(([, text]) => ({ text: text as string }))],
  );
  return html`${experimentToRun(experiment, commandOf(run))}
${provenance}
<p class="small">${whatRepeats(run)}</p>`;
}

function flapping(scaling: ScalingFigures) {
  const note = flappingNote(scaling);
  return note === null ? '' : html`\n<p class="alert">${capital(note)}.</p>`;
}
