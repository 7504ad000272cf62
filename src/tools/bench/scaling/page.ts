import { html, type Markup } from '../../../report/html/markup.js';
import { gallery, type PageChart, page } from '../../../report/html/page.js';
import { type Column, facts, section, table } from '../../../report/html/parts.js';
import { formatFactor } from '../../../text/numbers.js';
import { rateText, shareText } from '../figures.js';
import type { ScalingPoint } from './point.js';
import type { ScalingResult, ScalingRun } from './result.js';
import { aboutLines, efficiencyText, LEGEND, speedUpText, tookText, warnings, workText } from './text.js';

/** A scaling benchmark as one HTML document: the verdicts first, then charts and all figures. */
export function scalingPage(result: ScalingResult, charts: readonly PageChart[]): string {
  const { name, runs } = result;
  const title = runs.map(({ verdict }) => verdict.title).join('. ');
  const body = html`<header>
<p class="kind">escapement bench --scaling · ${name}</p>
<h1>${title}</h1>
${reasons(result).map((reason) => html`<p>${reason}</p>\n`)}
${facts(runs.map(headline))}
</header>
${section('Charts', gallery(charts))}
${runs.map((run) => section(run.mode === 'strong' ? 'Strong scaling' : 'Weak scaling', runTable(run, result)))}
${section(
  'Method',
  html`${aboutLines(result).map((line) => html`<p>${line}</p>\n`)}
<p>Requests go through the live controller in real time. ${LEGEND}. Efficiency is the product of the last three columns, each compared with the fewest GPUs: how busy the GPUs are, how well their batches use them by the profile, and how fast INFERs are compared with the profile. A request without a result is sent again.</p>`,
)}`;
  return page(`${name}: ${title}`, body, true);
}

function reasons({ runs }: ScalingResult): string[] {
  return runs.map(({ verdict }) => verdict.reason).filter((reason) => reason !== '');
}

function headline({ mode, points, verdict }: ScalingRun) {
  const { gpus, throughputRps } = points[points.length - 1];
  return {
    label: mode === 'strong' ? 'Strong scaling' : 'Weak scaling',
    value: shareText(verdict.efficiency),
    note: `on ${gpus} GPUs: ${rateText(throughputRps)} requests/s`,
  };
}

const COLUMNS: readonly Column[] = [
  'GPUs',
  'models',
  'clients',
  'requests',
  's',
  'requests/s',
  'speed-up',
  'efficiency',
  'EXEC',
  'least busy',
  'batch',
  'LOADs',
  'thread',
  'steps',
  'waits',
  'cores',
  'result late, p99 ms',
  'sent late, p99 ms',
  'busy',
  'batches',
  'device',
].map((title) => ({ title, numeric: true }));

function runTable(run: ScalingRun, result: ScalingResult): Markup {
  return html`<p>${workText(run)}</p>
${warnings(run, result).map((text) => html`<p>Note: ${text}</p>\n`)}
${table(
  COLUMNS,
  run.points.map((point) => row(point).map((text) => ({ text }))),
)}`;
}

function row(point: ScalingPoint): string[] {
  const { activity, factors } = point;
  return [
    String(point.gpus),
    rateText(point.models),
    rateText(point.clients),
    rateText(point.requests),
    tookText(point),
    rateText(point.throughputRps),
    speedUpText(point),
    efficiencyText(point),
    shareText(activity.execMean),
    shareText(activity.execMin),
    activity.meanBatch.toFixed(1),
    rateText(activity.loads),
    shareText(activity.loopBusy),
    shareText(activity.stepShare),
    activity.waitShare === null ? '–' : shareText(activity.waitShare),
    activity.cores.toFixed(1),
    activity.resultDelayMs.toFixed(2),
    activity.latenessMs.toFixed(2),
    ...[factors.busy, factors.batches, factors.device].map(formatFactor),
  ];
}
