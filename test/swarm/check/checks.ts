import type { History } from '../history/history.js';
import { secondsOf, traceAround } from '../history/summary.js';
import { clocks, oneDriver, weights, windows } from './actions.js';
import { allowedAnswers, executed, inTime, oneAnswer, rates } from './answers.js';
import type { Check, Finding } from './finding.js';
import { journals, logs, metrics } from './records.js';
import { recovery } from './recovery.js';

/** All properties of a run, the most important first. */
const CHECKS: readonly Check[] = [
  oneAnswer,
  inTime,
  allowedAnswers,
  executed,
  rates,
  windows,
  clocks,
  oneDriver,
  weights,
  recovery,
  metrics,
  journals,
  logs,
];

/** All that does not hold in a history; empty: it is as it should be. */
export async function checkHistory(history: History): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const check of CHECKS) found.push(...(await check.run(history)));
  return found;
}

/** A finding as one line. */
export function titleOf({ check, atNs, what }: Finding): string {
  return `${check}: ${what} (at ${secondsOf(atNs)})`;
}

/** A finding for people: its line, then what happened around it. */
export function describeFinding(finding: Finding, { events }: History): string {
  const about = traceAround(events, finding.atNs, finding.concerns);
  return [titleOf(finding), ...about.map((line) => `    ${line}`)].join('\n');
}
