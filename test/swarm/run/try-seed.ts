import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Finding } from '../check/finding.js';
import { summaryOf } from '../history/summary.js';
import { drawScenario } from '../scenario/draw-scenario.js';
import type { Scenario } from '../scenario/scenario.js';
import { shrink } from '../shrink.js';
import { failsAs, judge, verdictOf, writeJudged } from './judge.js';

/** What came of a seed. Plain data. */
export interface SeedVerdict {
  /** What does not hold, one line; empty: nothing. */
  readonly failure: string;
  readonly events: number;
  readonly virtualNs: number;
  readonly digest: string;
  /** What happened, for people, where it is kept. */
  readonly story?: string;
  /** Why it was no valid seed; absent: it was one. */
  readonly refused?: string;
}

export interface FailureOptions {
  /** Where what happened is written. */
  readonly dir: string;
  /** Also if nothing fails. */
  readonly keeps: boolean;
  /** It is also made smaller. */
  readonly smaller: boolean;
}

/** One seed in so many runs twice, and must do the same. */
const TWICE_EVERY = 20;
const MOST_SHRINK_RUNS = 500;

export function trySeed(seed: number, options: FailureOptions): Promise<SeedVerdict> {
  return tryScenario(drawScenario(seed), options, seed % TWICE_EVERY === 0);
}

/** The scenario of a file, twice. */
export function tryPlan(path: string, options: FailureOptions): Promise<SeedVerdict> {
  return tryScenario(JSON.parse(readFileSync(path, 'utf8')) as Scenario, options, true);
}

async function tryScenario(
  scenario: Scenario,
  { dir, smaller, keeps }: FailureOptions,
  twice: boolean,
): Promise<SeedVerdict> {
  const judged = await judge(scenario);
  const { digest, events, endNs } = judged.run;
  const story = keeps ? { story: summaryOf(judged.run.history) } : {};
  const verdict = { events, virtualNs: endNs, digest, ...story };
  const failure = verdictOf(judged);
  if (keeps || failure !== '') writeJudged(scenario, judged, dir);
  if (failure === '') {
    const again = twice ? (await judge(scenario)).run.digest : digest;
    return {
      ...verdict,
      failure: again === digest ? '' : `the same seed leads to ${digest}, then to ${again}`,
    };
  }
  if (smaller) await writeSmaller(scenario, judged.findings[0], join(dir, 'smaller'));
  return { ...verdict, failure };
}

async function writeSmaller(scenario: Scenario, finding: Finding, dir: string): Promise<void> {
  const smallest = await shrink(scenario, {
    fails: (candidate) => failsAs(candidate, finding),
    failedNs: finding.atNs,
    mostRuns: MOST_SHRINK_RUNS,
  });
  writeJudged(smallest, await judge(smallest), dir);
}
