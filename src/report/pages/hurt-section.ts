import { CAUSE_LABELS, CAUSE_MEANINGS, CAUSES, type FailureCounts } from '../../record/causes.js';
import { FEWEST_REQUESTS } from '../../record/model-figures.js';
import type { ModelFigures, RunResult } from '../../record/results.js';
import { formatCount, formatPercent } from '../../text/numbers.js';
import { html, type Markup } from '../html/markup.js';
import { code, section, table } from '../html/parts.js';
import { causesText, hurtModels, modelsSentence } from '../hurt-text.js';
import { quoted } from '../reproduce.js';

/** Failures: by cause, the worst-served models, and how to look at single requests. Empty if none failed. */
export function hurtSection(run: RunResult): Markup {
  const { summary, models } = run;
  const hurt = hurtModels(models);
  if (hurt.length === 0) return html``;
  const said = modelsSentence(summary);
  const causes = summary.failures;
  const more = models.filter(({ ok, offered }) => ok < offered).length - hurt.length;
  return section(
    causes === undefined ? 'Who failed' : 'Who failed, and why',
    html`${causes === undefined ? '' : causesTable(causes, summary.requests.offered)}
<p>${mostFailures(run)}</p>
${said === '' ? '' : html`<p>${said}</p>`}
${modelsTable(hurt)}
<p class="small">Models with the smallest share in time come first; those with fewer than ${FEWEST_REQUESTS} requests last, because so few say little.${more > 0 ? ` ${formatCount(more)} more models had failed requests: run.json lists all.` : ''}</p>
${causes === undefined ? '' : explanation(hurt[0]!)}`,
  );
}

/** Note on the model with the most failed requests, which is seldom the one with the smallest share. */
function mostFailures({ models, summary: { requests } }: RunResult): string {
  const failed = ({ offered, ok }: ModelFigures) => offered - ok;
  const most = models.reduce((a, b) => (failed(b) > failed(a) ? b : a));
  const causes = most.failures === undefined ? '' : `: ${causesText(most.failures)}`;
  return `Most failed requests: ${formatCount(failed(most))} of the ${formatCount(requests.offered - requests.ok)} were for ${most.name}${causes}.`;
}

function causesTable(failures: FailureCounts, offered: number): Markup {
  const rows = CAUSES.filter((cause) => failures[cause] > 0).map((cause) => [
    { text: CAUSE_LABELS[cause] },
    { text: formatCount(failures[cause]) },
    { text: formatPercent(failures[cause] / offered) },
    { text: CAUSE_MEANINGS[cause] },
  ]);
  const columns = [
    { title: 'Cause' },
    { title: 'Requests', numeric: true },
    { title: 'Share', numeric: true },
    { title: 'What it means' },
  ];
  return table(columns, rows);
}

function modelsTable(models: readonly ModelFigures[]): Markup {
  const present = CAUSES.filter((cause) => models.some(({ failures }) => (failures?.[cause] ?? 0) > 0));
  const seesCold = models.some(({ coldStarts }) => coldStarts !== undefined);
  const cold = seesCold ? ['Cold starts'] : [];
  const numbers = ['Requests', 'In time', ...cold, ...present.map((cause) => CAUSE_LABELS[cause])];
  const rows = models.map(({ name, offered, ok, coldStarts, failures }) => [
    { text: name },
    { text: formatCount(offered), sort: offered },
    { text: formatPercent(ok / offered), sort: ok / offered },
    ...(coldStarts === undefined ? [] : [{ text: formatCount(coldStarts), sort: coldStarts }]),
    ...present.map((cause) => ({
      text: formatCount(failures?.[cause] ?? 0),
      sort: failures?.[cause] ?? 0,
    })),
  ]);
  return table([{ title: 'Model' }, ...numbers.map((title) => ({ title, numeric: true }))], rows, true);
}

/** Command that explains requests one by one. */
function explanation({ name }: ModelFigures): Markup {
  return html`<p>To explain the failures of one model from the logs in this folder, here the worst:</p>
${code(`escapement explain . --model ${quoted(name)}`)}`;
}
