import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { loadResults } from '../../src/report/index.js';
import { runFixture, sweepFixture } from './fixtures.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'report-'));
});

const put = (name: string, content: unknown) =>
  writeFileSync(join(dir, name), typeof content === 'string' ? content : JSON.stringify(content));

describe('loadResults', () => {
  it('reads a run and a sweep', () => {
    put('run.json', runFixture({ sloMs: 10, goodputRps: 50 }));
    expect(loadResults(dir).kind).toBe('run');
    put('results.json', sweepFixture({ seeds: [1] }));
    expect(loadResults(dir).kind).toBe('sweep');
  });

  it.each([
    ['{"version":2', /results\.json: is not valid JSON \(perhaps truncated\)/],
    ['[]', /results\.json: is not a results file/],
    [
      { ...sweepFixture({ seeds: [1] }), version: 2 },
      /results\.json: version: is of version 2, but this program reads version 7; run the experiment again/,
    ],
    [{ version: 7, escapement: '1.2.3', name: 'x' }, /results\.json: experiment: is missing/],
    [
      { ...sweepFixture({ seeds: [1] }), cells: [{ id: 'slo=10ms', values: {}, seed: 1, status: 'done' }] },
      /results\.json: cells\.0\.result: is missing/,
    ],
  ])('explains what is wrong with a broken file (%#)', (content, message) => {
    put('results.json', content);
    expect(() => loadResults(dir)).toThrowError(
      expect.objectContaining({ code: 'E_RESULTS', message: expect.stringMatching(message) }),
    );
  });

  it('says how to go on with a sweep that was interrupted', () => {
    mkdirSync(join(dir, 'cells'));
    expect(() => loadResults(dir)).toThrowError(/contains an unfinished sweep; run the same sweep again/);
  });

  it('tells a plan from a sweep that was interrupted', () => {
    mkdirSync(join(dir, 'cells'));
    put('plan.json', {});
    for (const plan of [dir, join(dir, 'plan.json')])
      expect(() => loadResults(plan)).toThrowError(/is a plan, .* simulate each with its flags and --out/);
  });

  it('explains a folder that is missing or holds no results', () => {
    expect(() => loadResults(join(dir, 'nowhere'))).toThrowError(/nowhere: folder does not exist/);
    expect(() => loadResults(dir)).toThrowError(/contains neither results\.json nor run\.json/);
  });
});
