import { keyLabel, valueLabel } from '../report/quantity.js';
import type { PlanResult, Tried } from './plan-result.js';
import { capital, estimateText, goalLabel, listed, marginText, namedValue } from './words.js';

/** A plan for the terminal: what was tried, the answer, its margin, and what to know about it. */
export function planText(plan: PlanResult): string {
  const { over, targets, tried, notes } = plan;
  const header = [keyLabel(over.key), ...targets.map(({ text }) => text), 'meets'];
  const rows = tried.map((one) => [
    valueLabel(one.value),
    ...targets.map((target, i) =>
      one.figures[i] === undefined ? 'cannot run' : estimateText(target, one.figures[i].estimate),
    ),
    MEETS[one.meets],
  ]);
  return [...aligned([header, ...rows]), '', ...verdictLines(plan), ...notes.map((note) => `note: ${note}`)]
    .map((line) => `${line}\n`)
    .join('');
}

/** The answer on one line, its margin on the next ones. */
export function verdictLines(plan: PlanResult): string[] {
  const { over, targets, answer, before, closest } = plan;
  const wanted = listed(targets.map(({ text }) => text));
  if (answer === null) {
    return [
      `No value from ${over.from} to ${over.to} meets ${wanted}`,
      `closest: ${reached(plan, closest!)}`,
    ];
  }
  return [
    `${capital(goalLabel(over.key, plan.superlative))} with ${wanted}: ${valueLabel(answer)}`,
    `${reached(plan, answer)}${before === null ? '' : `; ${reached(plan, before)}`}`,
  ];
}

/** What `meets` means, for people. */
export function ruleText({ seeds, targets }: Pick<PlanResult, 'seeds' | 'targets'>): string {
  const all = targets.length > 1 ? ', for every target' : '';
  if (seeds.length === 1) return `A value meets where its run does${all}.`;
  return `A value meets where the whole 95 % confidence interval of the mean over ${seeds.length} seeds is within the limit${all}.`;
}

/** Verdicts in words. */
export const MEETS = { yes: 'yes', unsure: 'not surely', no: 'no' } as const;

/** `4 GPUs reach 99.93 % ± 0.02 (0.01 pp above 99.9 %)`. */
function reached({ over, targets, tried }: PlanResult, value: string): string {
  const { figures, refused } = tried.find((one) => one.value === value) as Tried;
  const name = namedValue(over.key, value);
  if (refused !== undefined) return `${name} cannot run: ${refused}`;
  const verb = over.key === 'cluster.gpus' && value !== '1' ? 'reach' : 'reaches';
  const parts = targets.map((target, i) => {
    const figure = figures[i]!;
    const of = targets.length > 1 ? `${target.metric} ` : '';
    return `${of}${estimateText(target, figure.estimate)} (${marginText(target, figure)})`;
  });
  return `${name} ${verb} ${listed(parts)}`;
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const last = widths.length - 1;
  return rows.map((row) => row.map((cell, i) => (i === last ? cell : cell.padStart(widths[i]!))).join('  '));
}
