import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { describeFinding } from './check/checks.js';
import { judge } from './run/judge.js';
import { drawScenario } from './scenario/draw-scenario.js';
import type { Scenario } from './scenario/scenario.js';

const REGRESSIONS = fileURLToPath(new URL('regressions/', import.meta.url));

it('does the same again from the same seed', async () => {
  const scenario = drawScenario(1);
  const [one, again] = [await judge(scenario), await judge(scenario)];
  expect(again.run.digest).toBe(one.run.digest);
  expect(again.run.history.events).toEqual(one.run.history.events);
});

describe('scenarios that once failed', () => {
  it.each(readdirSync(REGRESSIONS))('%s', async (file) => {
    const scenario = JSON.parse(readFileSync(`${REGRESSIONS}${file}`, 'utf8')) as Scenario;
    expect(await problemsOf(scenario)).toEqual([]);
  });
});

async function problemsOf(scenario: Scenario): Promise<string[]> {
  const { findings, run } = await judge(scenario);
  return findings.map((finding) => describeFinding(finding, run.history));
}
