import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { describeFinding } from './check/checks.js';
import { judge } from './run/judge.js';
import { drawScenario } from './scenario/draw-scenario.js';
import type { Scenario } from './scenario/scenario.js';

/** `npm run swarm` tries as many as it is asked to. */
const FRESH_SEEDS = 5;
const REGRESSIONS = fileURLToPath(new URL('regressions/', import.meta.url));

describe('live clusters in a simulated world', () => {
  const first = randomInt(2 ** 40);

  it.each(Array.from({ length: FRESH_SEEDS }, (_, i) => first + i))(
    'hold what they promise, seed %d',
    async (seed) => {
      expect(await problemsOf(drawScenario(seed)), `npm run swarm -- --seed ${seed}`).toEqual([]);
    },
  );

  it('do the same again from the same seed', async () => {
    const scenario = drawScenario(first);
    const [one, again] = [await judge(scenario), await judge(scenario)];
    expect(again.run.digest).toBe(one.run.digest);
    expect(again.run.history.events).toEqual(one.run.history.events);
  });
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
