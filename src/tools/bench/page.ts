import { html, type Markup } from '../../report/html/markup.js';
import { gallery, type PageChart, page } from '../../report/html/page.js';
import { type CellText, type Column, facts, section, table } from '../../report/html/parts.js';
import { keyLabel } from '../../report/quantity.js';
import { formatFactor } from '../../text/numbers.js';
import { surelyBest } from './best.js';
import { bestText } from './charts.js';
import { msText, rateText, spreadText } from './figures.js';
import {
  aboutLines,
  bestRun,
  differenceLines,
  failedText,
  nextKnobs,
  noteOf,
  shownStages,
  stageOf,
  warnings,
} from './reading.js';
import type { BenchResult, BenchRun } from './result.js';
import { STAGE_TITLES, type StageName } from './stage.js';

/** A benchmark as one HTML document: the verdict first, then charts, all stages, and what to try. */
export function benchPage(result: BenchResult, charts: readonly PageChart[]): string {
  const { name, vary } = result;
  const { verdict } = bestRun(result);
  const title = vary === null ? verdict.title : bestText(result, vary.key);
  const reason = vary === null ? verdict.reason : `With it: ${verdict.title}. ${verdict.reason}`;
  const body = html`<header>
<p class="kind">escapement bench · ${name}</p>
<h1>${title}</h1>
<p>${reason}</p>
${facts(headline(result))}
${warnings(result).map((text) => html`<p class="alert">${text}</p>\n`)}
</header>
${section('Charts', gallery(charts))}
${section('Stages', html`${stageTable(result)}${differenceLines(result).map((line) => html`<p>${line}</p>`)}`)}
${section('What to try next', knobList(result))}
${section(
  'Method',
  html`${aboutLines(result).map((line) => html`<p>${line}</p>\n`)}
<p>IO: frontend, decoding, scheduler and transport in front of a device that takes no time. SYNTHETIC: the device by itself, with full batches back to back. FULL: the whole server. The stages run one after the other, with the same models, tensors and mix; clients have their own process. ±: standard deviation of the trials.</p>`,
)}`;
  return page(`${name}: ${title}`, body, true);
}

function headline(result: BenchResult) {
  const run = bestRun(result);
  return run.stages.map((stage) => ({
    label: STAGE_TITLES[stage.stage],
    value: `${rateText(stage.throughputRps.mean)}/s`,
    note: noteOf(stage, run),
  }));
}

function stageTable(result: BenchResult): Markup {
  const { vary, runs } = result;
  const columns: Column[] = [
    ...(vary === null ? [] : [{ title: keyLabel(vary.key) }]),
    { title: 'Stage' },
    { title: 'requests/s', numeric: true },
    ...(vary === null ? [] : [{ title: 'of the first', numeric: true }]),
    { title: 'least', numeric: true },
    { title: 'most', numeric: true },
    { title: 'p50 ms', numeric: true },
    { title: 'p99 ms', numeric: true },
    { title: 'failed', numeric: true },
    { title: '' },
  ];
  const best = new Map(
    shownStages(runs[0]).map((name) => [
      name,
      surelyBest(runs.map((run) => stageOf(run, name).throughputRps)),
    ]),
  );
  return table(
    columns,
    runs.flatMap((run, i) => stageRows(run, vary === null ? null : runs[0], (name) => best.get(name) === i)),
  );
}

function stageRows(
  run: BenchRun,
  first: BenchRun | null,
  isBest: (stage: StageName) => boolean,
): CellText[][] {
  return run.stages.map((stage) => {
    const { throughputRps, p50Ms, p99Ms } = stage;
    return [
      ...(first === null ? [] : [{ text: run.value ?? '' }]),
      { text: STAGE_TITLES[stage.stage] },
      { text: spreadText(throughputRps), strong: isBest(stage.stage) },
      ...(first === null
        ? []
        : [{ text: formatFactor(throughputRps.mean / stageOf(first, stage.stage).throughputRps.mean) }]),
      { text: rateText(throughputRps.min) },
      { text: rateText(throughputRps.max) },
      { text: p50Ms === null ? '–' : msText(p50Ms) },
      { text: p99Ms === null ? '–' : msText(p99Ms) },
      { text: failedText(stage) ?? '–' },
      { text: noteOf(stage, run) },
    ];
  });
}

function knobList(result: BenchResult): Markup {
  const items = nextKnobs(result).map(({ key, why, command }) => {
    const tried = command === null ? '' : html` <code>escapement bench … ${command}</code>`;
    return html`<p><strong>${key}</strong>: ${why}${tried}</p>\n`;
  });
  return html`${items}`;
}
