import type { GroupSummary, RunResult } from '../metrics/results.js';
import { formatCount, formatMs, formatPercent, formatRate } from './format.js';
import { html, type Markup } from './html/markup.js';
import { gallery, type PageChart, page } from './html/page.js';
import { code, facts, section, table } from './html/parts.js';

/** What a run's report can say beyond the result itself. */
export interface RunReportOptions {
  /** The run's single objective, drawn as a rule; leave out where requests differ. */
  readonly sloMs?: number;
  /** The experiment file as written. */
  readonly experiment?: string;
}

/** The report of one run: headline figures, charts, tables and provenance. */
export function runPage(
  run: RunResult,
  charts: readonly PageChart[],
  options: RunReportOptions = {},
): string {
  const { summary } = run;
  const title = `${formatRate(summary.goodputRps)} requests/s within their objective`;
  const body = html`<header>
<p class="kind">escapement run · ${summary.name} · ${summary.policy}</p>
<h1>${title}</h1>
<p>${formatPercent(summary.sloAttainment)} of ${formatCount(summary.requests.offered)} requests offered in ${formatRate(summary.durationSeconds)} s were answered in time.</p>
${facts(headlineFacts(run))}
</header>
${section('Charts', gallery(charts))}
${section('Requests', requestsTable(run))}
${run.groups.length === 0 ? '' : section('Groups', groupsTable(run.groups))}
${section('Actions', actionsTable(run))}
${section('Reproduce', reproduction(run, options))}`;
  return page(`${summary.name}: ${title}`, body, charts.length > 0);
}

function headlineFacts({ summary }: RunResult) {
  const { latencyMs, gpu } = summary;
  return [
    {
      label: 'Goodput',
      value: `${formatRate(summary.goodputRps)}/s`,
      note: `of ${formatRate(summary.offeredRps)}/s offered`,
    },
    { label: 'SLO attainment', value: formatPercent(summary.sloAttainment), note: 'of all offered requests' },
    {
      label: 'p99 latency',
      value: formatMs(latencyMs.p99),
      note: `p50 ${formatMs(latencyMs.p50)}, p99.99 ${formatMs(latencyMs.p9999)}`,
    },
    {
      label: 'GPU busy',
      value: formatPercent(gpu.execUtilization),
      note: `weights lane ${formatPercent(gpu.weightsUtilization)}`,
    },
  ];
}

function requestsTable({ summary }: RunResult): Markup {
  const { offered, ...outcomes } = summary.requests;
  const rows = Object.entries({ ...outcomes, offered }).map(([name, count]) => [
    { text: name },
    { text: formatCount(count) },
    { text: offered === 0 ? '–' : formatPercent(count / offered) },
  ]);
  return html`${table([{ title: 'Outcome' }, { title: 'Requests', numeric: true }, { title: 'Share', numeric: true }], rows)}
<p class="small">${formatCount(summary.coldStarts)} cold starts: requests that arrived while no GPU held their model.</p>`;
}

function groupsTable(groups: readonly GroupSummary[]): Markup {
  const columns = [
    { title: 'Group' },
    ...['Offered', 'In time', 'Attained', 'p50', 'p99', 'p99.99'].map((title) => ({ title, numeric: true })),
  ];
  const rows = groups.map(({ name, requests, sloAttainment, latencyMs }) => [
    { text: name },
    { text: formatCount(requests.offered), sort: requests.offered },
    { text: formatCount(requests.ok), sort: requests.ok },
    { text: formatPercent(sloAttainment), sort: sloAttainment },
    ...[latencyMs.p50, latencyMs.p99, latencyMs.p9999].map((ms) => ({ text: formatMs(ms), sort: ms ?? -1 })),
  ]);
  return table(columns, rows, true);
}

function actionsTable({ summary: { actions } }: RunResult): Markup {
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

function reproduction({ summary }: RunResult, { experiment }: RunReportOptions): Markup {
  const command = `escapement simulate experiment.yaml --set seed=${summary.seed} --out results`;
  const provenance = table(
    [{ title: 'Seed' }, { title: 'Decision digest' }],
    [[{ text: String(summary.seed) }, { text: summary.digest }]],
  );
  if (experiment === undefined) return provenance;
  return html`<p>Save the experiment below as <code>experiment.yaml</code> where its relative paths hold, and run</p>
${code(command)}
<h3>The experiment as written</h3>
${code(experiment)}
${provenance}
<p class="small">Equal digests mean equal decisions, one for one.</p>`;
}
