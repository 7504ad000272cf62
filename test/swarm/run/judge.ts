import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { checkHistory, describeFinding, titleOf } from '../check/checks.js';
import { type Finding, kindOf } from '../check/finding.js';
import { lineOf, summaryOf } from '../history/summary.js';
import type { Scenario } from '../scenario/scenario.js';
import { type Run, runScenario } from './run-scenario.js';

/** What came of a scenario. */
export interface Judged {
  readonly run: Run;
  /** Empty: all is as it should be. */
  readonly findings: readonly Finding[];
}

/** Runs a scenario and checks what was seen. */
export async function judge(scenario: Scenario): Promise<Judged> {
  const run = await runScenario(scenario);
  return { run, findings: await checkHistory(run.history) };
}

/** The first ones say it; the rest mostly follows from them. */
const MOST_FINDINGS = 20;

/** Whether a scenario fails as another did: the same property does not hold for the same reason. */
export async function failsAs(scenario: Scenario, finding: Finding): Promise<boolean> {
  const { findings } = await judge(scenario);
  return findings.some((other) => kindOf(other) === kindOf(finding));
}

/** Writes what there is to know of a run: the scenario, what was found, what happened, the journals. */
export function writeJudged(scenario: Scenario, { run, findings }: Judged, dir: string): void {
  const { history } = run;
  mkdirSync(dir, { recursive: true });
  const write = (name: string, text: string) => writeFileSync(join(dir, name), text);
  write('scenario.json', `${JSON.stringify(scenario, null, 2)}\n`);
  const described = findings.slice(0, MOST_FINDINGS).map((finding) => describeFinding(finding, history));
  write('findings.txt', `${described.join('\n')}\n`);
  write('summary.txt', `${verdictOf({ run, findings }) || 'passed'}\n${summaryOf(history)}`);
  write('timeline.txt', `${history.events.map(lineOf).join('\n')}\n`);
  for (const { process, path, text } of history.journals) write(`${process}.${basename(path)}`, text);
}

/** The first finding as one line. */
export function verdictOf({ findings }: Judged): string {
  return findings.length === 0 ? '' : titleOf(findings[0]);
}
