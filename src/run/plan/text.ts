import { keyLabel, valueLabel } from '../../report/quantity.js';
import type { ThresholdCase } from '../../report/thresholds/cases.js';
import { thresholdLines } from '../../report/thresholds/text.js';
import { alignColumns } from '../../text/table.js';
import { capital, listed } from '../../text/words.js';
import type { PlanResult, Tried } from './plan-result.js';
import { isLeast } from './preference.js';
import { estimateText, goalLabel, isOneSample, marginText, namedValue } from './words.js';

/** A plan for the terminal: what was tried, the answer, its margin, and what to know about it. */
export function planText(plan: PlanResult): string {
  const { policy, over, targets, tried, notes } = plan;
  const inTime = inTimeTexts(plan);
  const others = inTime === null ? [] : ['in time'];
  const header = [keyLabel(over.key), ...targets.map(({ text }) => text), ...others, 'meets'];
  const rows = tried.map((one, i) => [
    valueLabel(one.value),
    ...figureTexts(plan, one),
    ...(inTime === null ? [] : [inTime[i]!]),
    MEETS[one.meets],
  ]);
  const lines = [...verdictLines(plan), ...thresholdLines(targetCases(plan))];
  return [
    `policy ${policy}`,
    '',
    ...alignColumns([header, ...rows], [-1]),
    '',
    ...lines,
    ...notes.map((note) => `note: ${note}`),
  ]
    .map((line) => `${line}\n`)
    .join('');
}

/** The answer on one line, its margin on the next. */
export function verdictLines(plan: PlanResult): [string, string] {
  const { headline, answer, before, closest } = plan;
  if (answer === null) return [headline, `closest: ${reached(plan, closest!)}`];
  return [headline, `${reached(plan, answer)}${before === null ? '' : `; ${reached(plan, before)}`}`];
}

/**
 * The answer in words. An end of the range is no answer, and must not look like one. `tried`: how many values, if not all of
 * the range.
 */
export function headlineOf(
  {
    over,
    targets,
    outcome,
    answer,
    superlative,
  }: Pick<PlanResult, 'over' | 'targets' | 'outcome' | 'answer' | 'superlative'>,
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
  return `${capital(goalLabel(over.key, superlative))} with ${wanted}: ${valueLabel(answer)}`;
}

/** The targets held against the answer, or where there is none against the value that came closest. */
export function targetCases({ over, targets, tried, answer, closest }: PlanResult): ThresholdCase[] {
  const value = (answer ?? closest) as string;
  const { figures, refused } = tried.find((one) => one.value === value) as Tried;
  return targets.map((target, i) => {
    const figure = figures[i];
    const at = namedValue(over.key, value);
    const threshold = target.text;
    if (figure === undefined) {
      return { run: '', threshold, ok: false, actual: null, measured: 'failed', error: `${at}: ${refused}` };
    }
    const actual =
      figure.estimate?.mean ?? figure.values.find((one) => one === null || !Number.isFinite(one)) ?? null;
    const about = figure.estimate === null || figure.about === null ? '' : ` (${figure.about})`;
    const measured = `${estimateText(target, figure)}${about} at ${at}`;
    return { run: '', threshold, ok: figure.meets === 'yes', actual, measured };
  });
}

/** `98.7 %` of the requests were answered in time: a column, in one precision; null: a target has these figures. */
export function inTimeTexts({ targets, tried }: Pick<PlanResult, 'targets' | 'tried'>): string[] | null {
  if (targets.some(({ metric }) => metric === 'attainment')) return null;
  const shares = tried.map(({ attainment }) => attainment);
  const decimals = shares.some((share) => share !== null && share > 0.999 && share < 1) ? 2 : 1;
  return shares.map((share) => {
    if (share === null) return '–';
    const text = (100 * share).toFixed(decimals);
    return share < 1 && Number(text) === 100 ? '>99.99 %' : `${text} %`;
  });
}

export function figureTexts({ targets }: Pick<PlanResult, 'targets'>, { figures }: Tried): string[] {
  return targets.map((target, i) =>
    figures[i] === undefined ? 'cannot run' : estimateText(target, figures[i]),
  );
}

/** What `meets` means, for people. */
export function ruleText({ seeds, targets, tried }: Pick<PlanResult, 'seeds' | 'targets' | 'tried'>): string {
  const all = targets.length > 1 ? ', for every target' : '';
  if (isOneSample(tried)) {
    return `A value meets where the whole 95 % confidence interval of its run is within the limit${all}. The interval comes from the time slices of the run, as no seed changes it; a figure without one decides by itself.`;
  }
  if (seeds.length === 1) return `A value meets where its run does${all}.`;
  return `A value meets where the whole 95 % confidence interval of the mean over ${seeds.length} seeds is within the limit${all}.`;
}

/** Verdicts in words. */
export const MEETS = { yes: 'yes', unsure: 'not surely', no: 'no' } as const;

/** `4 GPUs reach 99.93 % ± 0.02 (0.01 pp above 99.9 %)`. */
function reached({ over, targets, tried }: PlanResult, value: string): string {
  const { figures, refused, attainment } = tried.find((one) => one.value === value) as Tried;
  const name = namedValue(over.key, value);
  if (refused !== undefined) return `${name} cannot run: ${refused}`;
  if (attainment === null) return `${name}: no requests were offered`;
  const several = over.key === 'cluster.gpus' && value !== '1';
  const verb = figures.some(({ estimate }) => estimate === null) ? ':' : several ? ' reach' : ' reaches';
  const parts = targets.map((target, i) => {
    const figure = figures[i]!;
    const of = targets.length > 1 ? `${target.metric} ` : '';
    const text = estimateText(target, figure);
    return figure.values.includes(null) ? `${of}${text}` : `${of}${text} (${marginText(target, figure)})`;
  });
  return `${name}${verb} ${listed(parts)}`;
}
