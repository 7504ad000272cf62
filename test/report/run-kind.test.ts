import { describe, expect, it } from 'vitest';
import type { RunOrigin, RunResult } from '../../src/record/results.js';
import { compareRuns } from '../../src/report/compare/compare.js';
import { comparisonText, summaryText } from '../../src/report/terminal/summary-text.js';
import { runFixture, withParts } from './fixtures.js';

const SIMULATED: RunResult = {
  ...runFixture({ sloMs: 10, goodputRps: 362.4, seed: 7 }),
  overrides: ['slo=50ms', 'seed=7'],
  origin: { escapement: '4.5.6' },
};
const UNSEEN = ['digest', 'policy', 'actions', 'coldStarts', 'gpu', 'failures'];
/** What a client sees of it. */
function seen<T extends object>(figures: T): T {
  return Object.fromEntries(Object.entries(figures).filter(([name]) => !UNSEEN.includes(name))) as T;
}
const environment = { Node: '20.1.2', Machine: '2 × CPU' };

const CLIENT = withParts(SIMULATED, { model: SIMULATED.summary.by.model.map(seen) });
const run = (kind: 'live' | 'load', origin: Partial<RunOrigin>): RunResult => ({
  ...SIMULATED,
  summary: { ...(kind === 'load' ? seen(CLIENT.summary) : SIMULATED.summary), kind },
  origin: { escapement: '4.5.6', environment, ...origin },
});
const live = run('live', {
  devices: '2 × cpu',
  environment: { ...environment, onnxruntime: '1.30.0' },
});
const load = run('load', {
  url: 'http://10.0.0.1:8000',
  flags: ['--url http://10.0.0.1:8000', '--connections 8'],
});

describe('the summary of a run', () => {
  it.each([
    [SIMULATED, 'run       schedule-ahead, simulated, policy clockwork, 20 s\n'],
    [live, 'run       schedule-ahead, live on 2 × cpu, policy clockwork, 20 s\n'],
    [load, 'run       schedule-ahead, load against http://10.0.0.1:8000, 20 s\n'],
  ])('says what it was (%#)', (result, line) => {
    expect(summaryText(result)).toContain(line);
  });

  it('tells an experiment that is called live from the kind of its run', () => {
    const called = { ...live, summary: { ...live.summary, name: 'live' } };
    expect(summaryText(called)).toContain('run       experiment live, live on 2 × cpu, policy');
    expect(comparisonText(compareRuns([{ name: 'a', run: called }]))).toContain(
      'a    experiment live  live  clockwork',
    );
  });
});
