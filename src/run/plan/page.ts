import { html } from '../../report/html/markup.js';
import { gallery, type PageChart, page } from '../../report/html/page.js';
import {
  type CellText,
  type Column,
  experimentToRun,
  facts,
  section,
  table,
} from '../../report/html/parts.js';
import { renderSvg } from '../../report/html/render.js';
import { keyLabel, valueLabel } from '../../report/quantity.js';
import { commandLine, quoted, setFlags } from '../../report/reproduce.js';
import { plural } from '../../text/words.js';
import { planCharts } from './charts.js';
import type { PlanResult, Tried } from './plan-result.js';
import { isLeast } from './preference.js';
import { figureTexts, inTimeTexts, MEETS, ruleText, verdictLines } from './text.js';
import { isOneSample, runCount, seedsFact } from './words.js';

/** A plan as one HTML document: the answer and its margin first, then charts, all that was tried, and how to repeat it. */
export async function planPage(plan: PlanResult): Promise<string> {
  const charts: PageChart[] = [];
  for (const { name, spec } of planCharts(plan)) charts.push({ name, spec, svg: await renderSvg(spec) });
  const [title, margin] = verdictLines(plan);
  const body = html`<header>
<p class="kind">escapement plan · ${plan.name}</p>
<h1>${title}</h1>
<p>${margin}.</p>
${facts(headlineFacts(plan))}
${plan.notes.map((note) => html`<p class="alert">${note}</p>\n`)}
</header>
${section('Charts', gallery(charts))}
${section('Values tried', html`<p>${ruleText(plan)}</p>\n${triedTable(plan)}`)}
${section(
  'Reproduce',
  html`${experimentToRun(plan.experiment, planCommand(plan))}
<p>It ran with escapement ${plan.escapement}.</p>`,
)}`;
  return page(`${plan.name}: ${title}`, body, true);
}

function headlineFacts(plan: PlanResult) {
  const { policy, over, outcome, answer, resolution, tried } = plan;
  const unbound = outcome === 'whole' && !isLeast(over.key, answer!);
  return [
    {
      label: `Planned: ${keyLabel(over.key)}`,
      value: answer === null ? 'none' : unbound ? 'beyond the range' : valueLabel(answer),
      note: `of ${valueLabel(over.from)} to ${valueLabel(over.to)}, ${resolution}`,
    },
    { label: 'Policy', value: policy, note: 'at every value' },
    {
      label: 'Runs',
      value: String(runCount(plan)),
      note: `${tried.length} values${isOneSample(tried) ? '' : ` × ${plural(plan.seeds.length, 'seed')}`}`,
    },
    seedsFact(plan, 'the same at every value'),
  ];
}

function triedTable(plan: PlanResult) {
  const { over, targets, tried } = plan;
  const inTime = inTimeTexts(plan);
  const columns: Column[] = [
    { title: keyLabel(over.key), numeric: true },
    ...targets.map(({ text }) => ({ title: text, numeric: true })),
    ...(inTime === null ? [] : [{ title: 'In time', numeric: true }]),
    { title: 'Meets' },
  ];
  const rows = tried.map((one: Tried, i): CellText[] => [
    { text: valueLabel(one.value), sort: i },
    ...figureTexts(plan, one).map((text, k) => ({
      text,
      sort: one.figures[k]?.estimate?.mean ?? Number.POSITIVE_INFINITY,
    })),
    ...(inTime === null ? [] : [{ text: inTime[i]!, sort: one.attainment ?? -1 }]),
    { text: one.refused ?? MEETS[one.meets] },
  ]);
  return table(columns, rows, true);
}

function planCommand({ over, targets, seeds, overrides }: PlanResult): string {
  const range = [over.from, over.to, ...(over.step === null ? [] : [over.step])].join(':');
  return commandLine('plan', [
    ...targets.map(({ text }) => `--target ${quoted(text)}`),
    `--over ${quoted(`${over.key}=${range}`)}`,
    ...setFlags(overrides),
    `--seeds ${seeds.join(',')}`,
  ]);
}
