import { html } from '../../report/html/markup.js';
import { gallery, type PageChart, page } from '../../report/html/page.js';
import {
  type CellText,
  type Column,
  code,
  experimentToRun,
  facts,
  section,
  table,
} from '../../report/html/parts.js';
import { renderSvg } from '../../report/html/render.js';
import { commandLine, quoted, setFlags } from '../../report/reproduce.js';
import { fleetCharts } from './fleet-charts.js';
import type { FleetPlan, TriedFleet } from './fleet-result.js';
import { costText, costTexts, effortText, perMillionText, verdictOfFleets } from './fleet-text.js';
import { written } from './over.js';
import { figureTexts, inTimeTexts, MEETS, ruleText } from './text.js';
import { seedsFact } from './words.js';

/** A plan of fleets as one HTML document: the answer first, then the frontier, all that was run, and how to repeat it. */
export async function fleetPage(plan: FleetPlan): Promise<string> {
  const charts: PageChart[] = [];
  for (const { name, spec } of fleetCharts(plan)) charts.push({ name, spec, svg: await renderSvg(spec) });
  const [title, margin] = verdictOfFleets(plan);
  const chosen = plan.tried.find(({ value }) => value === plan.answer);
  const body = html`<header>
<p class="kind">escapement plan · ${plan.name}</p>
<h1>${title}</h1>
<p>${margin}.</p>
${facts(headlineFacts(plan, chosen))}
${plan.notes.map((note) => html`<p class="alert">${note}</p>\n`)}
</header>
${section('Charts', gallery(charts))}
${chosen === undefined ? '' : section('Deploy', html`<p>Add to simulate, run or sweep:</p>\n${code(setFlags(chosen.settings).join(' '))}`)}
${section('Fleets that were run', html`<p>${ruleText(plan)} ${effortText(plan)}.</p>\n${triedTable(plan)}`)}
${section(
  'Reproduce',
  html`${experimentToRun(plan.experiment, fleetCommand(plan))}
<p>It ran with escapement ${plan.escapement}.</p>`,
)}`;
  return page(`${plan.name}: ${title}`, body, true);
}

function headlineFacts(plan: FleetPlan, chosen: TriedFleet | undefined) {
  const { policy, effort } = plan;
  return [
    {
      label: 'Price per hour',
      value: chosen === undefined ? 'none' : costText(chosen),
      note: chosen === undefined ? 'no fleet meets the targets' : chosen.value,
    },
    {
      label: 'Per million in time',
      value: chosen === undefined ? '–' : perMillionText(chosen),
      note: 'requests answered within their SLO',
    },
    { label: 'Policy', value: policy, note: 'with every fleet' },
    { label: 'Runs', value: String(effort.runs), note: `of ${effort.runsOfAll}` },
    seedsFact(plan, 'the same with every fleet'),
  ];
}

function triedTable(plan: FleetPlan) {
  const inTime = inTimeTexts(plan);
  const isTarget = plan.targets.some(({ metric }) => metric === 'costPerMillion');
  const perHour = costTexts(plan.tried.map(({ costPerHour }) => costPerHour));
  const perMillion = costTexts(plan.tried.map(({ costPerMillion }) => costPerMillion ?? null));
  const columns: Column[] = [
    { title: 'Fleet' },
    { title: 'Per hour', numeric: true },
    ...(isTarget ? [] : [{ title: 'Per million in time', numeric: true }]),
    ...plan.targets.map(({ text }) => ({ title: text, numeric: true })),
    ...(inTime === null ? [] : [{ title: 'In time', numeric: true }]),
    { title: 'Meets' },
  ];
  const rows = plan.tried.map((one, i): CellText[] => [
    { text: one.value, sort: i },
    { text: perHour[i]!, sort: one.costPerHour },
    ...(isTarget ? [] : [{ text: perMillion[i]!, sort: one.costPerMillion ?? Number.POSITIVE_INFINITY }]),
    ...figureTexts(plan, one).map((text, k) => ({
      text,
      sort: one.figures[k]?.estimate?.mean ?? Number.POSITIVE_INFINITY,
    })),
    ...(inTime === null ? [] : [{ text: inTime[i]!, sort: one.attainment ?? -1 }]),
    { text: one.refused ?? MEETS[one.meets] },
  ]);
  return table(columns, rows, true);
}

function fleetCommand({ over, targets, seeds, overrides }: FleetPlan): string {
  return commandLine('plan', [
    ...targets.map(({ text }) => `--target ${quoted(text)}`),
    '--minimize cost',
    `--over ${quoted(over.map(written).join(','))}`,
    ...setFlags(overrides),
    `--seeds ${seeds.join(',')}`,
  ]);
}
