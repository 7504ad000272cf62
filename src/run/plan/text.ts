import { priceText } from '../../report/cost-text.js';
import type { CellText, Column, Document, Section, Table } from '../../report/document.js';
import { experimentToRun } from '../../report/pages/blocks.js';
import { keyLabel, valueLabel } from '../../report/quantity.js';
import { commandLine, quoted, setFlags } from '../../report/reproduce.js';
import { documentText } from '../../report/terminal/document-text.js';
import type { ThresholdCase } from '../../report/thresholds/cases.js';
import { thresholdLines } from '../../report/thresholds/text.js';
import { capital, listed, plural } from '../../text/words.js';
import { written } from './over.js';
import {
  type FleetPlan,
  isFleetPlan,
  isOneSample,
  type KeyPlan,
  type Plan,
  runCount,
  shownOf,
  type Tried,
  type TriedFleet,
} from './plan-result.js';
import { isLeast } from './preference.js';
import { estimateText, intervalsOf, marginText, namedValue, nameIn } from './words.js';

/** A plan for the terminal. Each target has a line of its own, however long, for scripts. */
export function planText(plan: Plan): string {
  const document = planDocument(plan);
  const lead = [
    ...document.lead,
    ...plan.notes.map((note) => `note: ${note}`),
    ...deployFlags(plan).map((flags) => `deploy: ${flags}`),
  ];
  const anyWidth = Number.POSITIVE_INFINITY;
  return documentText({ ...document, lead }, anyWidth, anyWidth);
}

/** Report of a plan: the answer with its notes, charts, all tried values, and the command to repeat it. */
export function planDocument(plan: Plan): Document {
  const { name, policy, notes, targets, escapement, experiment } = plan;
  const [title, ...lead] = answerLines(plan) as [string, ...string[]];
  const interval = intervalsOf(plan);
  const what = interval === null ? 'its figure' : `the whole ${interval}, where there is one,`;
  const rule = `A row meets if ${what} is within the limit${targets.length > 1 ? ' of every target' : ''}.`;
  return {
    kind: `escapement plan · ${name}`,
    title,
    lead,
    sections: [
      { title: '', only: 'page', blocks: notes.map((text) => ({ text: `${capital(text)}.` })) },
      { title: 'Search', only: 'page', blocks: [{ list: factsOf(plan) }] },
      { title: 'Charts', blocks: [{ charts: true }] },
      ...deployFlags(plan).map((code): Section => {
        return {
          title: 'Deploy',
          only: 'page',
          blocks: [{ text: 'Add to simulate, run or sweep:' }, { code }],
        };
      }),
      {
        title: 'Tried',
        blocks: [
          { text: `policy ${policy}${interval === null ? '' : `; ±: ${interval}`}`, only: 'terminal' },
          { text: rule, only: 'page' },
          { table: triedTable(plan) },
        ],
      },
      {
        title: 'Reproduce',
        only: 'page',
        blocks: [
          ...experimentToRun(experiment, commandOf(plan)),
          { text: `It ran with escapement ${escapement}.` },
        ],
      },
    ],
  };
}

/** Ranges that were searched, the policy, and the number of runs. */
function factsOf(plan: Plan): [string, string][] {
  const { policy, seeds, tried } = plan;
  const each = isOneSample(tried)
    ? 'run once: no seed changes them'
    : `with ${plural(seeds.length, 'seed')} each`;
  const ranges = isFleetPlan(plan) ? plan.over : [plan.over];
  const steps = isFleetPlan(plan) ? '' : `, ${plan.resolution}`;
  return [
    ...ranges.map(({ key, from, to }): [string, string] => [
      keyLabel(key),
      `${valueLabel(from)} to ${valueLabel(to)}${steps}`,
    ]),
    ['policy', policy],
    ['runs', `${runCount(plan)}: ${plural(tried.length, isFleetPlan(plan) ? 'fleet' : 'value')} ${each}`],
  ];
}

/** Flags that give the experiment the answer, if it is a fleet. */
function deployFlags(plan: Plan): string[] {
  if (!isFleetPlan(plan) || plan.answer === null) return [];
  const { settings } = shownOf(plan)!;
  return [settings.map((setting) => `--set ${setting}`).join(' ')];
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

/** The answer, its targets, its confidence, and the runs for it; a line each. */
export function answerLines(plan: Plan): string[] {
  const lines = [plan.headline, ...thresholdLines(planCases(plan))];
  return isFleetPlan(plan) ? [...lines, ...confidenceLines(plan), effortText(plan)] : lines;
}

interface PlanColumn extends Column {
  /** One per tried value. */
  readonly cells: readonly CellText[];
}

/** All tried values, a row each. */
function triedTable(plan: Plan): Table {
  const { targets, tried } = plan;
  const inTime = inTimeTexts(plan);
  const columns: PlanColumn[] = [
    ...(isFleetPlan(plan) ? fleetColumns(plan) : [keyColumn(plan)]),
    ...targets.map((target, k): PlanColumn => {
      const cells = tried.map(({ figures }) => ({
        text: figures[k] === undefined ? '–' : estimateText(target, figures[k]),
        sort: figures[k]?.estimate?.mean ?? Number.POSITIVE_INFINITY,
      }));
      return { title: target.text, numeric: true, cells };
    }),
    ...(inTime === null
      ? []
      : [
          {
            title: 'in time',
            numeric: true,
            cells: tried.map(({ attainment }, i) => ({ text: inTime[i]!, sort: attainment ?? -1 })),
          },
        ]),
    {
      ...{ title: 'meets', wraps: true },
      cells: tried.map(({ refused, meets }) => ({
        text: refused === undefined ? MEETS[meets] : `cannot run: ${refused}`,
      })),
    },
  ];
  const rows = tried.map((_, i) => columns.map(({ cells }) => cells[i]!));
  return { columns, rows, sortable: true, unlimited: true };
}

const MEETS = { yes: 'yes', unsure: 'only on average', no: 'no' } as const;

function keyColumn({ over, tried }: KeyPlan): PlanColumn {
  const cells = tried.map(({ value }, i) => ({ text: valueLabel(value), sort: i }));
  return { title: keyLabel(over.key), numeric: true, cells };
}

function fleetColumns({ tried, targets }: FleetPlan): PlanColumn[] {
  const priced = (title: string, costs: readonly (number | null)[]): PlanColumn => {
    const texts = costTexts(costs);
    const cells = costs.map((cost, i) => ({ text: texts[i]!, sort: cost ?? Number.POSITIVE_INFINITY }));
    return { title, numeric: true, cells };
  };
  const perMillion = tried.map(({ costPerMillion }) => costPerMillion ?? null);
  const isTarget = targets.some(({ metric }) => metric === 'costPerMillion');
  return [
    { title: 'fleet', cells: tried.map(({ value }, i) => ({ text: value, sort: i })) },
    priced(
      'per hour',
      tried.map(({ costPerHour }) => costPerHour),
    ),
    ...(isTarget ? [] : [priced('per million in time', perMillion)]),
  ];
}

/** Costs as a column, in one precision; `–` if there is none. */
export function costTexts(costs: readonly (number | null)[]): string[] {
  const texts = costs.flatMap((cost) => (cost === null ? [] : priceText(cost)));
  const decimals = Math.max(0, ...texts.map((text) => text.split('.')[1]?.length ?? 0));
  return costs.map((cost) => (cost === null ? '–' : cost.toFixed(decimals)));
}

/** `98.7 %` of the requests were answered in time: a column, in one precision; null if a target has these figures. */
export function inTimeTexts({ targets, tried }: Pick<Plan, 'targets' | 'tried'>): string[] | null {
  if (targets.some(({ metric }) => metric === 'attainment')) return null;
  const shares = tried.map(({ attainment }) => attainment);
  const decimals = shares.some((share) => share !== null && share > 0.999 && share < 1) ? 2 : 1;
  return shares.map((share) => {
    if (share === null) return '–';
    const text = (100 * share).toFixed(decimals);
    return share < 1 && Number(text) === 100 ? '>99.99 %' : `${text} %`;
  });
}

/** The answer in words, which must not mistake an end of the range for one. `tried`: number of values, if not all. */
export function headlineOf(
  {
    over,
    targets,
    outcome,
    answer,
    superlative,
  }: Pick<KeyPlan, 'over' | 'targets' | 'outcome' | 'answer' | 'superlative'>,
  tried: number | null,
): string {
  const wanted = listed(targets.map(({ text }) => text));
  if (answer === null) {
    const none = tried === null ? 'No value' : `None of the ${tried} values tried`;
    return `${none} from ${over.from} to ${over.to} meets ${wanted}`;
  }
  if (outcome === 'whole' && !isLeast(over.key, answer)) {
    const end = answer === over.from ? 'lower' : 'upper';
    const verb = targets.length > 1 ? 'hold' : 'holds';
    return `The range does not bound the answer: at its ${end} end, ${namedValue(over.key, answer)}, ${wanted} still ${verb}`;
  }
  return `${capital(superlative)} ${keyLabel(over.key)} with ${wanted}: ${valueLabel(answer)}`;
}

export function fleetHeadline(targets: Plan['targets'], answer: TriedFleet | undefined): string {
  const wanted = listed(targets.map(({ text }) => text));
  if (answer === undefined) return `No fleet within the ranges meets ${wanted}`;
  return `Cheapest fleet with ${wanted}: ${pricedName(answer)}`;
}

function pricedName({ value, costPerHour }: TriedFleet): string {
  return `${value}, ${priceText(costPerHour)} per hour`;
}

/** Targets checked against the answer, or else against the closest miss. */
export function planCases(plan: Plan): ThresholdCase[] {
  const shown = shownOf<Tried>(plan);
  return plan.targets.map((target, i) => {
    const [run, threshold, figure] = ['', target.text, shown?.figures[i]];
    if (shown === undefined || figure === undefined) {
      const error =
        shown === undefined
          ? 'no scheduler could meet it with any of the fleets, by upper bounds'
          : `${nameIn(plan, shown.value)} cannot run: ${shown.refused}`;
      return { run, threshold, ok: false, actual: null, measured: 'failed', error };
    }
    const actual =
      figure.estimate?.mean ?? figure.values.find((one) => one === null || !Number.isFinite(one)) ?? null;
    const about = figure.estimate === null || figure.about === null ? '' : ` (${figure.about})`;
    const at = `${isFleetPlan(plan) ? 'with' : 'at'} ${nameIn(plan, shown.value)}`;
    const parts = [
      `${estimateText(target, figure)}${about} ${at}`,
      plan.answer === null ? 'the closest' : '',
      marginText(target, figure),
    ];
    const measured = parts.filter((part) => part !== '').join(', ');
    return { run, threshold, ok: figure.meets === 'yes', actual, measured };
  });
}

/** Confidence in the answer, since each fleet that ran is one more chance to meet a target by luck. */
function confidenceLines({ confidence, answer, tried, seeds }: FleetPlan): string[] {
  if (confidence === null) return [];
  const { compared, isSure, sure } = confidence;
  if (isSure === null)
    return [`not known how sure: with each of the ${seeds.length} seeds a figure is the same`];
  const after = `after ${plural(compared, 'fleet')} that ran up to its price`;
  if (isSure) return [`sure: 95 % confidence in ${answer} ${after}`];
  const next = tried.find(({ value }) => value === sure);
  const other = next === undefined ? 'nor in any other: add seeds' : `but in ${pricedName(next)}`;
  return [`not sure: ${seeds.length} seeds give no 95 % confidence in ${answer} ${after}, ${other}`];
}

/** `24 of 44 fleets ran (72 of 132 runs); upper bounds rule out 7; 13 cost no less than the answer`. */
function effortText({ effort, answer }: FleetPlan): string {
  const { fleets, run, ruledOut, spared, runs, runsOfAll } = effort;
  const why = answer === null ? 'cannot meet the targets either' : 'cost no less than the answer';
  return [
    `${run} of ${fleets} fleets ran (${runs} of ${runsOfAll} runs)`,
    ...(ruledOut === 0 ? [] : [`upper bounds rule out ${ruledOut}`]),
    ...(spared === 0 ? [] : [`${spared} ${why}`]),
  ].join('; ');
}
