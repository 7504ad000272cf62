import { html } from '../../report/html/markup.js';
import { gallery, type PageChart, page } from '../../report/html/page.js';
import { code, experimentToRun, facts, section, table } from '../../report/html/parts.js';
import { renderSvg } from '../../report/html/render.js';
import { keyLabel, valueLabel } from '../../report/quantity.js';
import { commandLine, quoted, setFlags } from '../../report/reproduce.js';
import { plural } from '../../text/words.js';
import { planCharts } from './charts.js';
import { written } from './over.js';
import { isFleetPlan, isOneSample, type Plan, runCount } from './plan-result.js';
import { isLeast } from './preference.js';
import { answerLines, deployFlags, planColumns } from './text.js';
import { intervalsOf } from './words.js';

/** A plan as one HTML document: the answer first, then charts, all tried values, and the command to repeat it. */
export async function planPage(plan: Plan): Promise<string> {
  const charts: PageChart[] = [];
  for (const { name, spec } of planCharts(plan)) charts.push({ name, spec, svg: await renderSvg(spec) });
  const [title, ...lines] = answerLines(plan) as [string, ...string[]];
  const columns = planColumns(plan);
  const rows = plan.tried.map((_, i) => columns.map(({ cells }) => cells[i]!));
  const body = html`<header>
<p class="kind">escapement plan · ${plan.name}</p>
<h1>${title}</h1>
${lines.map((line) => html`<p>${line}</p>\n`)}
${facts(factsOf(plan))}
${plan.notes.map((note) => html`<p class="alert">${note}</p>\n`)}
</header>
${section('Charts', gallery(charts))}
${deployFlags(plan).map((flags) => section('Deploy', html`<p>Add to simulate, run or sweep:</p>\n${code(flags)}`))}
${section('Tried', html`<p>${ruleText(plan)}</p>\n${table(columns, rows, true)}`)}
${section(
  'Reproduce',
  html`${experimentToRun(plan.experiment, commandOf(plan))}
<p>It ran with escapement ${plan.escapement}.</p>`,
)}`;
  return page(`${plan.name}: ${title}`, body, true);
}

function factsOf(plan: Plan) {
  const { policy, seeds, tried } = plan;
  const once = isOneSample(tried);
  const each = once ? 'run once: no seed changes them' : `with ${plural(seeds.length, 'seed')} each`;
  return [
    ...(isFleetPlan(plan) ? [] : [plannedFact(plan)]),
    { label: 'Policy', value: policy, note: 'the same everywhere' },
    {
      label: 'Runs',
      value: String(runCount(plan)),
      note: `${tried.length} ${isFleetPlan(plan) ? 'fleets' : 'values'} ${each}`,
    },
    ...(once ? [] : [{ label: 'Seeds', value: seeds.join(', '), note: 'the same everywhere' }]),
  ];
}

function plannedFact({ over, outcome, answer, resolution }: Exclude<Plan, { minimize: 'cost' }>) {
  const unbound = outcome === 'whole' && !isLeast(over.key, answer!);
  return {
    label: `Planned: ${keyLabel(over.key)}`,
    value: answer === null ? 'none' : unbound ? 'beyond the range' : valueLabel(answer),
    note: `of ${valueLabel(over.from)} to ${valueLabel(over.to)}, ${resolution}`,
  };
}

/** Meaning of `meets`, for people. */
function ruleText(plan: Plan): string {
  const interval = intervalsOf(plan);
  const what = interval === null ? 'its figure' : `the whole ${interval}, where there is one,`;
  return `A row meets if ${what} is within the limit${plan.targets.length > 1 ? ' of every target' : ''}.`;
}

function commandOf(plan: Plan): string {
  const { targets, seeds, overrides } = plan;
  const ranges = isFleetPlan(plan) ? plan.over : [plan.over];
  return commandLine('plan', [
    ...targets.map(({ text }) => `--target ${quoted(text)}`),
    ...(isFleetPlan(plan) ? ['--minimize cost'] : []),
    `--over ${quoted(ranges.map(written).join(','))}`,
    ...setFlags(overrides),
    `--seeds ${seeds.join(',')}`,
  ]);
}
