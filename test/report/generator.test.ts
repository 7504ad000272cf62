import { expect, it } from 'vitest';
import type { GeneratorFigures, RunResult } from '../../src/record/results.js';
import { compareRuns } from '../../src/report/compare/compare.js';
import { generatorLines, generatorWarnings } from '../../src/report/generator.js';
import { documentPage } from '../../src/report/html/page.js';
import { runDocument } from '../../src/report/pages/run-document.js';
import { runFixture } from './fixtures.js';

const WELL: GeneratorFigures = {
  sentLateMs: { p50: 0.1742, p99: 0.9, max: 2 },
  waitedForConnection: 0,
  notSent: 0,
};

function sent(generator: GeneratorFigures, kind: 'load' | 'live' = 'load'): RunResult {
  const run = runFixture({ sloMs: 10, goodputRps: 100, seed: 1 });
  return { ...run, summary: { ...run.summary, kind, generator } };
}

it('is a fact of the report, and no warning while requests are sent in time', () => {
  const run = sent(WELL);
  const line = 'equests were sent p50 0.174 ms, p99 0.9 ms, max 2 ms later than intended';
  expect(generatorLines(run)).toEqual([`r${line}`]);
  expect(generatorWarnings(run)).toEqual([]);
  expect(documentPage(runDocument(run), [])).toContain(`R${line}.</p>`);
});

it('says what was sent again', () => {
  const lines = generatorLines(sent({ ...WELL, retries: { requests: 1234, attempts: 5678 } }));
  expect(lines).toContain('1,234 requests were sent again, 5,678 times in all');
});

it.each([
  [{ sentLateMs: { p50: 0.2, p99: 1.01, max: 182 } }, 'load', /^requests were sent late \(p99 1\.01 ms\)/],
  [{ sentLateMs: { p50: 0.2, p99: 144, max: 182 } }, 'live', /^requests were offered late \(p99 144 ms\)/],
  [{ timersLateMs: { p50: 0.2, p99: 50, max: 60 } }, 'live', /^timers fired late \(p99 50 ms\)/],
  [{ waitedForConnection: 1170 }, 'load', /of the requests waited for a free connection/],
  [{ notSent: 3 }, 'load', /^3 requests were not sent/],
] as const)('warns of %j, in the report and where runs are compared', (figures, kind, warning) => {
  const run = sent({ ...WELL, ...figures }, kind);
  const [text, ...more] = generatorWarnings(run);
  expect(text).toMatch(warning);
  expect(more).toEqual([]);
  expect(documentPage(runDocument(run), [])).toContain(`Warning: ${text}.</p>`);
  const simulated = runFixture({ sloMs: 10, goodputRps: 100, seed: 1 });
  const { warnings } = compareRuns([
    { name: 'simulated', run: simulated },
    { name: 'sent', run },
  ]);
  expect(warnings).toContain(`sent: ${text}`);
});

it('says nothing of a simulated run', () => {
  const run = runFixture({ sloMs: 10, goodputRps: 100, seed: 1 });
  expect([generatorLines(run), generatorWarnings(run)]).toEqual([[], []]);
  expect(documentPage(runDocument(run), [])).not.toMatch(/Warning|timers/);
});
