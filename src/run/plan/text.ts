import type { Document, Section } from '../../report/document.js';
import { experimentToRun } from '../../report/pages/blocks.js';
import { keyLabel, valueLabel } from '../../report/quantity.js';
import { commandLine, quoted, setFlags } from '../../report/reproduce.js';
import { documentText } from '../../report/terminal/document-text.js';
import { type ThresholdCase, thresholdLines } from '../../report/thresholds/cases.js';
import { capital, listed, plural } from '../../text/words.js';
import { Decision } from './decision.js';
import { namedValue, written } from './over.js';
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
import { triedTable } from './table.js';
import { confidenceLines, estimateText, intervalsOf, marginText, pricedName } from './words.js';

/** A plan for the terminal. Each target has a line of its own, however long, for scripts. */
export function planText(plan: Plan): string {
  const { whatIfs: _, ...search } = plan;
  const document = planDocument(search as Plan);
  const lead = [
    ...document.lead,
    ...plan.notes.map((note) => `note: ${note}`),
    ...deployFlags(plan).map((flags) => `deploy: ${flags}`),
  ];
  const anyWidth = Number.POSITIVE_INFINITY;
  return documentText({ ...document, lead }, anyWidth, anyWidth);
}

/**
 * Report of a plan: the answer with its notes, charts, all tried values, and the command to repeat it.
 */
export function planDocument(plan: Plan): Document {
  const { name, policy, targets, escapement, experiment, whatIfs } = plan;
  const decision = whatIfs === undefined ? null : new Decision({ ...plan, whatIfs });
  const [title, ...lead] = (decision === null ? answerLines(plan) : [decision.title, ...decision.lead]) as [
    string,
    ...string[],
  ];
  const interval = intervalsOf(plan);
  const what = interval === null ? 'its figure' : `the whole ${interval}, where there is one,`;
  const rule = `A row meets if ${what} is within the limit${targets.length > 1 ? ' of every target' : ''}.`;
  const details: Section[] = [
    ...(decision === null ? [] : searchSections({ ...plan, notes: [] })),
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
  ];
  return {
    kind: `escapement plan · ${name}`,
    title,
    lead,
    sections: [
      ...(decision === null ? searchSections(plan) : decision.sections),
      { title: 'Charts', blocks: [{ charts: true }] },
      ...details.map((section) => ({ ...section, isAppendix: decision !== null })),
    ],
  };
}

function searchSections(plan: Plan): Section[] {
  const deploy = plan.whatIfs === undefined ? deployFlags(plan) : [];
  return [
    { title: '', only: 'page', blocks: plan.notes.map((text) => ({ text: `${capital(text)}.` })) },
    { title: 'Search', only: 'page', blocks: [{ list: factsOf(plan) }] },
    ...deploy.map((code): Section => {
      return {
        title: 'Deploy',
        only: 'page',
        blocks: [{ text: 'Add to simulate, run or sweep:' }, { code }],
      };
    }),
  ];
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
  const { targets, survives, seeds, overrides } = plan;
  const ranges = isFleetPlan(plan) ? plan.over : [plan.over];
  return commandLine('plan', [
    ...targets.map(({ text }) => `--target ${quoted(text)}`),
    ...(isFleetPlan(plan) ? ['--minimize cost'] : []),
    ...(survives ? ['--survive 1'] : []),
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

/** The answer in words, which must not mistake an end of the range for one. `tried`: number of values, if not all. */
export function headlineOf(
  {
    over,
    targets,
    outcome,
    answer,
    superlative,
    ...asked
  }: Pick<KeyPlan, 'over' | 'targets' | 'survives' | 'outcome' | 'answer' | 'superlative'>,
  tried: number | null,
): string {
  const wanted = wantedText({ targets, ...asked });
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

export function fleetHeadline(asked: Asked, answer: TriedFleet | undefined): string {
  const wanted = wantedText(asked);
  if (answer === undefined) return `No fleet within the ranges meets ${wanted}`;
  return `Cheapest fleet with ${wanted}: ${pricedName(answer)}`;
}

type Asked = Pick<Plan, 'targets' | 'survives'>;

function wantedText({ targets, survives }: Asked): string {
  return `${listed(targets.map(({ text }) => text))}${survives ? ' even if any one GPU is lost' : ''}`;
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
          : `${shown.name} cannot run: ${shown.refused}`;
      return { run, threshold, ok: false, actual: null, measured: 'failed', error };
    }
    const actual =
      figure.estimate?.mean ?? figure.values.find((one) => one === null || !Number.isFinite(one)) ?? null;
    const about = figure.estimate === null || figure.about === null ? '' : ` (${figure.about})`;
    const at = `${isFleetPlan(plan) ? 'with' : 'at'} ${shown.name}`;
    const parts = [
      `${estimateText(target, figure)}${about} ${at}${shown.lost === undefined ? '' : `, ${shown.lost}`}`,
      plan.answer === null ? 'the closest' : '',
      marginText(target, figure),
    ];
    const measured = parts.filter((part) => part !== '').join(', ');
    return { run, threshold, ok: figure.meets === 'yes', actual, measured };
  });
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
