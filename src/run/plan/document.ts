import type { Threshold } from '../../record/threshold.js';
import {
  type CellText,
  type Column,
  type Document,
  documentText,
  percentCell,
  type Table,
} from '../../report/document.js';
import { present } from '../../report/lists.js';
import { experimentToRun } from '../../report/pages/blocks.js';
import { keyLabel, kindOfGpus, parseQuantity, priceText, valueLabel } from '../../report/quantity.js';
import { commandLine, quoted, setFlags } from '../../report/reproduce.js';
import { certaintyText } from '../../report/statistics.js';
import { type ThresholdCase, thresholdLines } from '../../report/thresholds/cases.js';
import { formatPercentCell } from '../../text/numbers.js';
import { listed, plural } from '../../text/words.js';
import { ASIDE, estimateText, marginText, type TargetFigure } from './judge.js';
import { written } from './over.js';
import { type Headroom, type Plan, type PlanInputs, pricedName, shownOf, type Tried } from './plan-result.js';
import type { ScenarioResults } from './what-ifs.js';

/** A plan for the terminal. Each target has a line of its own, however long, for scripts. */
export function planText(plan: Plan): string {
  const { whatIfs: _, ...search } = plan;
  return documentText(planDocument(search), Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
}

/** Report of a plan: the answer with its notes, what it holds in scenarios, all that was tried, and how to repeat it. */
export function planDocument(plan: Plan): Document {
  const { name, experiment, escapement, whatIfs, answer, over, minimize, targets } = plan;
  const shown = shownOf(plan);
  const flags =
    answer === null ? [] : shown!.settings.filter((one) => /^(policy|cluster|scaler)\./.test(one));
  const heading = minimize === null ? keyLabel(over[0]!.key) : 'fleet';
  const title = whatIfs === undefined ? plan.headline : decisionTitle(plan);
  return {
    kind: `escapement plan · ${name}`,
    title,
    lead: [
      ...answerLines(plan).filter((line) => line !== title),
      ...(whatIfs?.headroom ? [headroomText(targets, whatIfs.headroom)] : []),
      ...plan.notes.map((note) => `note: ${note}`),
    ],
    sections: [
      ...(whatIfs === undefined
        ? []
        : [
            {
              title: 'What to set',
              blocks: [
                { text: 'In the file of the experiment, from which a server takes the policy:' },
                { code: whatIfs.setup },
              ],
            },
            {
              title: 'What if?',
              blocks: [
                { text: policyLine(plan, whatIfs.scenarios, true) },
                { table: triedTable('scenario', plan, whatIfs.scenarios, true) },
                { text: SCENARIOS, tone: 'small' as const },
              ],
            },
            { title: 'What was assumed', blocks: [{ list: whatIfs.assumed }] },
          ]),
      { title: 'Charts', blocks: [{ charts: true }] },
      {
        title: 'Tried',
        blocks: [
          { text: policyLine(plan, plan.tried) },
          { table: triedTable(heading, plan, plan.tried, false, shown) },
        ],
      },
      ...(flags.length === 0 ? [] : [{ title: 'Flags', blocks: [{ code: setFlags(flags).join(' ') }] }]),
      {
        title: 'Reproduce',
        only: 'page',
        blocks: [
          ...experimentToRun(experiment, commandOf(plan)),
          { text: `It ran with escapement ${escapement}, ${effortText(plan)}.` },
        ],
      },
    ],
  };
}

const SCENARIOS =
  'Baseline: the answer as it is. Traffic × k: k times the requests, with their bursts. A GPU is lost for good at the end of ' +
  'the warm-up, or after a tenth of the run, and requests count from then on. Profiles 20 % slower: each batch takes 20 % ' +
  'longer than was measured. p99: 99 % of the requests were answered within this time; never: too few were answered in time. ' +
  'Nothing here was measured on a real cluster: run the answer before it is relied on.';

/** `Rent 1 × a10: 1.01 per hour, 4.97 per million requests answered in time`; of other keys the headline. */
function decisionTitle(plan: Plan): string {
  const [{ key }] = plan.over as [Plan['over'][number]];
  if (key !== 'cluster.gpus' && kindOfGpus(key) === null) return plan.headline;
  const { name, costPerHour } = shownOf(plan)!;
  const { costPerMillion } = plan.whatIfs!.scenarios[0]!;
  const costs = present(
    costPerHour !== undefined && `${priceText(costPerHour)} per hour`,
    costPerMillion != null && `${priceText(costPerMillion)} per million requests answered in time`,
  );
  return `Rent ${name}${costs.length === 0 ? '' : `: ${costs.join(', ')}`}`;
}

/** The policy, and the source of the intervals in a table of `tried`, in which scenarios have further figures. */
function policyLine(
  { policy, seeds }: PlanInputs & Pick<Plan, 'policy'>,
  tried: readonly Tried[],
  isScenario = false,
): string {
  const shown = tried.flatMap(({ figures, details }) =>
    isScenario && details !== undefined ? [...figures, details.attainment, details.p99] : figures,
  );
  const estimates = shown.map(({ estimate }) => estimate);
  return `policy ${policy}; ${certaintyText(seeds.length, estimates)}`;
}

/** Scenarios for the terminal. */
export function scenariosText(results: ScenarioResults): string {
  const { scenarios, headroom, targets } = results;
  const blocks = [
    { text: policyLine(results, scenarios, true) },
    { table: triedTable('scenario', results, scenarios, true) },
  ];
  const title = headroom === null ? '' : headroomText(targets, headroom);
  return documentText({ kind: '', title, lead: [], sections: [{ title: '', blocks }] });
}

function commandOf({ targets, minimize, survives, over, overrides, seeds, tried }: Plan): string {
  const isOnce =
    tried.some(({ cells }) => cells.length === 1) && tried.every(({ cells }) => cells.length < 2);
  return commandLine('plan', [
    ...targets.map(({ text }) => `--target ${quoted(text)}`),
    ...(minimize === null ? [] : [`--minimize ${minimize}`]),
    ...(survives ? ['--survive 1'] : []),
    `--over ${quoted(over.map(written).join(','))}`,
    ...setFlags(overrides),
    `--seeds ${(isOnce ? seeds.slice(0, 1) : seeds).join(',')}`,
  ]);
}

/** The answer, its targets, its confidence, and the runs for it; a line each. */
export function answerLines(plan: Plan): string[] {
  const lines = [plan.headline, ...thresholdLines(planCases(plan))];
  return plan.minimize === null ? lines : [...lines, ...confidenceLines(plan), effortText(plan)];
}

/** Targets checked against the answer, or else against the closest miss. */
export function planCases(plan: Plan): ThresholdCase[] {
  const shown = shownOf(plan);
  return plan.targets.map((target, i) => {
    const [run, threshold, figure] = ['', target.text, shown?.figures[i]];
    if (shown === undefined || figure === undefined) {
      const error =
        shown === undefined
          ? 'no scheduler could meet it with any of the fleets, by upper bounds'
          : `${shown.name} cannot run: ${shown.refused}`;
      return { run, threshold, ok: false, actual: null, measured: 'failed', error };
    }
    const actual =
      figure.estimate?.mean ?? figure.values.find((one) => one === null || !Number.isFinite(one)) ?? null;
    const about = figure.estimate === null || figure.about === null ? '' : ` (${figure.about})`;
    const at = `${plan.minimize === null ? 'at' : 'with'} ${shown.name}`;
    const measured = present(
      `${estimateText(target, figure)}${about} ${at}${shown.lost === undefined ? '' : `, ${shown.lost}`}`,
      plan.answer === null && 'the closest',
      marginText(target, figure) || null,
    ).join(', ');
    return { run, threshold, ok: figure.meets === 'yes', actual, measured };
  });
}

/** `24 of 44 fleets ran, 72 runs; upper bounds rule out 7`. */
function effortText({ effort: { candidates, run, runs, ruledOut }, minimize }: Plan): string {
  const bounds = ruledOut === 0 ? '' : `; upper bounds rule out ${ruledOut}`;
  return `${run} of ${plural(candidates, minimize === null ? 'value' : 'fleet')} ran, ${plural(runs, 'run')}${bounds}`;
}

/** Confidence in the answer, since each fleet that ran is one more chance to meet a target by luck. */
function confidenceLines({ confidence, answer, tried, seeds }: Plan): string[] {
  if (confidence === null) return [];
  const { compared, isSure, sure } = confidence;
  if (isSure === null)
    return [`not known how sure: with each of the ${seeds.length} seeds a figure is the same`];
  const after = `after ${plural(compared, 'fleet')} that ran up to its price`;
  if (isSure) return [`sure: 95 % confidence in ${answer} ${after}`];
  const next = tried.find(({ value }) => value === sure);
  const isReplay = tried.some((one) => one.isReplay);
  const none = `nor in any other: ${isReplay ? 'replay a longer log' : 'add seeds'}`;
  const other = next === undefined ? none : `but in ${pricedName(next)}`;
  return [`not sure: ${seeds.length} seeds give no 95 % confidence in ${answer} ${after}, ${other}`];
}

/** `attainment>=99% holds up to 1.24 times the traffic, and no longer at 1.26 times`. */
export function headroomText(targets: readonly Threshold[], { holds, misses, tried }: Headroom): string {
  const wanted = `${listed(targets.map(({ text }) => text))} ${targets.length > 1 ? 'hold' : 'holds'}`;
  if (holds === null) return `${wanted} at none of the factors tried, down to ${misses} times the traffic`;
  const end =
    misses === null ? `, the most of ${tried.length} factors tried` : `, and no longer at ${misses} times`;
  return `${wanted} up to ${holds} times the traffic${end}`;
}

interface TriedColumn extends Column {
  cell(one: Tried, row: number): CellText;
}

const MEETS = { yes: 'yes', unsure: 'only on average', no: 'no' } as const;

/** Candidates or scenarios with their figures, a row each; `answer`: the one to highlight. */
function triedTable(
  title: string,
  { targets }: Pick<PlanInputs, 'targets'>,
  tried: readonly Tried[],
  isScenario: boolean,
  answer?: Tried,
): Table {
  const figure = (heading: string, target: Threshold, of: (one: Tried) => TargetFigure | undefined) => ({
    ...{ title: heading, numeric: true },
    cell: (one: Tried) => {
      const found = of(one);
      const sort = found?.estimate?.mean ?? Number.POSITIVE_INFINITY;
      return { text: found === undefined ? '–' : estimateText(target, found), sort };
    },
  });
  const aside = (heading: string, name: keyof typeof ASIDE) =>
    targets.every(({ metric }) => metric !== ASIDE[name].metric) &&
    figure(heading, ASIDE[name], ({ details }) => details?.[name]);
  const cost = (heading: string, name: 'costPerHour' | 'costPerMillion') =>
    tried.some((one) => one[name] !== undefined) && {
      ...{ title: heading, numeric: true },
      cell: (one: Tried) => {
        const value = one[name] ?? null;
        return { text: value === null ? '–' : priceText(value), sort: value ?? Number.POSITIVE_INFINITY };
      },
    };
  const columns = present<TriedColumn>(
    {
      ...{ title, numeric: tried.every(({ value }) => parseQuantity(value) !== null) },
      cell: (one, row) => ({ text: valueLabel(one.value), sort: row, strong: one === answer }),
    },
    ...targets.map((target, i) => figure(target.text, target, ({ figures }) => figures[i])),
    isScenario
      ? aside('in time', 'attainment')
      : targets.every(({ metric }) => metric !== 'attainment') && {
          ...{ title: 'in time', numeric: true },
          cell: ({ attainment }) => percentCell(attainment),
        },
    isScenario && aside('p99', 'p99'),
    isScenario && {
      title: 'worst',
      cell: ({ details }) => {
        const worst = details?.worst[0];
        if (worst === undefined) return { text: '–', sort: 2 };
        return { text: `${worst.name} ${formatPercentCell(worst.attainment)} %`, sort: worst.attainment };
      },
    },
    cost('per hour', 'costPerHour'),
    targets.every(({ metric }) => metric !== 'costPerMillion') &&
      cost('per million in time', 'costPerMillion'),
    tried.some(({ lost }) => lost !== undefined) && {
      title: 'at worst',
      cell: ({ lost = '–' }) => ({ text: lost }),
    },
    targets.length > 0 && {
      ...{ title: 'meets', wraps: true },
      cell: ({ refused, meets }) => ({
        text: refused === undefined ? MEETS[meets] : `cannot run: ${refused}`,
      }),
    },
  );
  const rows = tried.map((one, row) => columns.map(({ cell }) => cell(one, row)));
  return { columns, rows, sortable: true, unlimited: true };
}
