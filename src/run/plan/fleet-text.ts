import { priceText } from '../../report/cost-text.js';
import type { ThresholdCase } from '../../report/thresholds/cases.js';
import { thresholdLines } from '../../report/thresholds/text.js';
import { alignColumns } from '../../text/table.js';
import { listed } from '../../text/words.js';
import type { FleetPlan, TriedFleet } from './fleet-result.js';
import { figureTexts, inTimeTexts, MEETS } from './text.js';
import { estimateText, marginText } from './words.js';

/** A plan of fleets for the terminal: what was run, the answer, what it costs, and how to run it. */
export function fleetText(plan: FleetPlan): string {
  const { policy, targets, tried, notes, answer } = plan;
  const inTime = inTimeTexts(plan);
  const perHour = costTexts(tried.map(({ costPerHour }) => costPerHour));
  const others = inTime === null ? [] : ['in time'];
  const header = ['fleet', 'per hour', ...targets.map(({ text }) => text), ...others, 'meets'];
  const rows = tried.map((one, i) => [
    one.value,
    perHour[i]!,
    ...figureTexts(plan, one),
    ...(inTime === null ? [] : [inTime[i]!]),
    MEETS[one.meets],
  ]);
  const chosen = tried.find(({ value }) => value === answer);
  return [
    `policy ${policy}`,
    '',
    ...alignColumns([header, ...rows], [0, -1]),
    '',
    ...verdictOfFleets(plan),
    effortText(plan),
    ...thresholdLines(fleetCases(plan)),
    ...notes.map((note) => `note: ${note}`),
    ...(chosen === undefined
      ? []
      : [`deploy: ${chosen.settings.map((setting) => `--set ${setting}`).join(' ')}`]),
  ]
    .map((line) => `${line}\n`)
    .join('');
}

/** The answer on one line, how surely it is one on the next. */
export function verdictOfFleets(plan: FleetPlan): [string, string] {
  const { headline, tried, answer, closest } = plan;
  const shown = tried.find(({ value }) => value === (answer ?? closest));
  if (shown === undefined)
    return [headline, 'no scheduler could meet the target with any of them: upper bounds say so'];
  return [headline, answer === null ? `closest: ${reached(plan, shown)}` : reached(plan, shown)];
}

export function fleetHeadline({
  targets,
  answer,
  tried,
}: Pick<FleetPlan, 'targets' | 'answer' | 'tried'>): string {
  const wanted = listed(targets.map(({ text }) => text));
  const chosen = tried.find(({ value }) => value === answer);
  if (chosen === undefined) return `No fleet within the ranges meets ${wanted}`;
  return `Cheapest fleet with ${wanted}: ${chosen.value}, ${costText(chosen)} per hour`;
}

/** `51 runs of 459: 17 of 153 fleets; upper bounds rule out 120`. */
export function effortText({ effort: { fleets, run, ruledOut, runs, runsOfAll } }: FleetPlan): string {
  const bounds = ruledOut === 0 ? '' : `; upper bounds rule out ${ruledOut}`;
  return `${runs} of ${runsOfAll} runs: ${run} of ${fleets} fleets${bounds}`;
}

/** The targets held against the answer, or where there is none against the fleet that came closest. */
export function fleetCases({ targets, tried, answer, closest }: FleetPlan): ThresholdCase[] {
  const shown = tried.find(({ value }) => value === (answer ?? closest));
  return targets.map((target, i) => {
    const [run, threshold, figure] = ['', target.text, shown?.figures[i]];
    if (shown === undefined || figure === undefined) {
      const error = shown?.refused ?? 'no fleet could be run with a chance to meet it';
      return { run, threshold, ok: false, actual: null, measured: 'failed', error };
    }
    const actual =
      figure.estimate?.mean ?? figure.values.find((one) => one === null || !Number.isFinite(one)) ?? null;
    const measured = `${estimateText(target, figure)} with ${shown.value}`;
    return { run, threshold, ok: figure.meets === 'yes', actual, measured };
  });
}

/** Per hour, in the currency of the experiment. */
export function costText({ costPerHour }: Pick<TriedFleet, 'costPerHour'>): string {
  return priceText(costPerHour);
}

/** Costs below one another, in one precision; `–` where there is none. */
export function costTexts(costs: readonly (number | null)[]): string[] {
  const texts = costs.flatMap((cost) => (cost === null ? [] : priceText(cost)));
  const decimals = Math.max(0, ...texts.map((text) => text.split('.')[1]?.length ?? 0));
  return costs.map((cost) => (cost === null ? '–' : cost.toFixed(decimals)));
}

/** Of a million requests in time; `–` where there were none. */
export function perMillionText({ costPerMillion }: TriedFleet): string {
  return costPerMillion == null ? '–' : priceText(costPerMillion);
}

/** `7 × t4 reaches 99.4 % ± 0.1 (at worst 0.3 pp above 99 %), 1.12 per million requests in time`. */
function reached({ targets }: FleetPlan, one: TriedFleet): string {
  if (one.refused !== undefined) return `${one.value} cannot run: ${one.refused}`;
  const parts = targets.map((target, i) => {
    const figure = one.figures[i]!;
    const of = targets.length > 1 ? `${target.metric} ` : '';
    const text = estimateText(target, figure);
    return figure.values.includes(null) ? `${of}${text}` : `${of}${text} (${marginText(target, figure)})`;
  });
  const isNamed = targets.some(({ metric }) => metric === 'costPerMillion');
  return `${one.value}: ${listed(parts)}${isNamed ? '' : `, ${perMillionText(one)} per million requests in time`}`;
}
