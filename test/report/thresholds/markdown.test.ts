import { describe, expect, it } from 'vitest';
import type { ThresholdCase } from '../../../src/report/thresholds/cases.js';
import { thresholdsMarkdown } from '../../../src/report/thresholds/markdown.js';
import { one } from './fixtures.js';

describe('Markdown', () => {
  it('says how many hold, and has missed thresholds first', () => {
    const cases = [one({}), one({ threshold: 'a|b<1', ok: false, measured: 'never: *5 %*\nof' })];
    expect(thresholdsMarkdown({ command: 'simulate', name: 'x_y', cases })).toBe(
      [
        '### escapement simulate: x\\_y',
        '',
        '✗ 1 of 2 thresholds is missed.',
        '',
        '|  | Threshold | Measured |',
        '| --- | --- | --- |',
        '| ✗ | a\\|b\\<1 | never: \\*5 %\\* of |',
        '| ✓ | p99\\<1s | 94 ms |',
        '',
        '',
      ].join('\n'),
    );
    const verdict = (...cases: ThresholdCase[]) =>
      thresholdsMarkdown({ command: 'simulate', name: '', cases }).split('\n')[2];
    expect(verdict(one({}))).toBe('✓ The threshold is met.');
    expect(verdict(one({ ok: false }))).toBe('✗ The threshold is missed.');
    expect(verdict(one({}), one({}))).toBe('✓ All 2 thresholds are met.');
  });

  it('leaves out rows that a job summary could not show, never one that was missed first', () => {
    const cases = Array.from({ length: 600 }, (_, i) => one({ run: String(i), ok: i !== 599 }));
    const text = thresholdsMarkdown({ command: 'sweep', name: 'x', cases });
    expect(text).toContain('| ✗ | p99\\<1s | 94 ms | 599 |');
    expect(text).toContain('… and 100 more.');
  });
});
