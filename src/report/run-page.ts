import type { GroupSummary, RunResult } from '../metrics/results.js';
import { servedGroups } from './charts/finding.js';
import { formatCount, formatMs, formatPercent, formatRate, formatSlo } from './format.js';
import { html, type Markup } from './html/markup.js';
import { gallery, type PageChart, page } from './html/page.js';
import { facts, section, table } from './html/parts.js';
import { groupPoint } from './points.js';
import { commandLine, experimentToRun, setFlags } from './reproduce.js';

/** The report of one run: headline figures, charts, tables and provenance. */
export function runPage(run: RunResult, charts: readonly PageChart[]): string {
  const { summary, groups } = run;
  const title = titleOf(run);
  const rate = `${formatRate(summary.goodputRps)} of ${formatRate(summary.offeredRps)} requests/s`;
  const body = html`<header>
<p class="kind">escapement run · ${summary.name} · ${summary.policy}</p>
<h1>${title}</h1>
<p>${groups.length === 0 ? '' : `${rate} over all groups: `}${formatPercent(summary.sloAttainment)} of ${formatCount(summary.requests.offered)} requests offered in ${formatRate(summary.durationSeconds)} s were answered in time.</p>
${facts(headlineFacts(run))}
</header>
${groups.length === 0 ? '' : section('Groups', groupsTable(groups))}
${section('Charts', gallery(charts))}
${section('Requests', requestsTable(run))}
${section('Actions', actionsTable(run))}
${section('Reproduce', reproduction(run))}`;
  return page(`${summary.name}: ${title}`, body, charts.length > 0);
}

/** Goodput; of groups who was served, because their sum hides it. */
function titleOf({ summary, sloMs, groups }: RunResult): string {
  if (groups.length > 0) return servedGroups({ groups: groups.map((group) => groupPoint(group)) });
  const objective = sloMs === null ? 'their objective' : `their objective of ${formatSlo(sloMs)}`;
  return `${formatRate(summary.goodputRps)} requests/s within ${objective}`;
}

function headlineFacts({ summary, groups }: RunResult) {
  const { latencyMs, gpu } = summary;
  const ofAll = groups.length === 0 ? 'of all offered requests' : 'of all offered requests, all groups';
  return [
    {
      label: 'Goodput',
      value: `${formatRate(summary.goodputRps)}/s`,
      note: `of ${formatRate(summary.offeredRps)}/s offered`,
    },
    { label: 'SLO attainment', value: formatPercent(summary.sloAttainment), note: ofAll },
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
    ...['SLO', 'Offered (req/s)', 'Goodput (req/s)', 'Attained', 'p50', 'p99', 'p99.99'].map((title) => ({
      title,
      numeric: true,
    })),
  ];
  const rows = groups.map(({ name, sloMs, offeredRps, goodputRps, sloAttainment, latencyMs }) => [
    { text: name },
    { text: sloMs === null ? 'own' : formatSlo(sloMs), sort: sloMs ?? -1 },
    { text: formatRate(offeredRps), sort: offeredRps },
    { text: formatRate(goodputRps), sort: goodputRps },
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

function reproduction({ summary, experiment, overrides }: RunResult): Markup {
  const provenance = table(
    [{ title: 'Seed' }, { title: 'Decision digest' }],
    [[{ text: String(summary.seed) }, { text: summary.digest }]],
  );
  return html`${experimentToRun(experiment, commandLine('simulate', setFlags(overrides)))}
${provenance}
<p class="small">Equal seeds and configuration give equal digests on any machine; equal digests mean equal decisions, one for one.</p>`;
}
