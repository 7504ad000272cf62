import { describe, expect, it } from 'vitest';
import { parseExperimentSource } from '../../src/experiment/load.js';
import { readSweepSection } from '../../src/experiment/sweep-section.js';
import { BASE } from './experiment-files.js';
import { failure } from './failure.js';

const read = (sweep: string, overrides: readonly string[] = []) =>
  readSweepSection(parseExperimentSource(`${BASE}sweep:\n${sweep}`, 'exp.yaml'), overrides);

describe('sweep section', () => {
  it('names keys and values in the order of the file', () => {
    const sweep = read(`  vary:
    slo: 10ms,25ms
    policy.scheduleAhead: 1ms:3ms:1ms
    policy.maxBatch: [1, 2, 4]
  seeds: 1,2,3
`);
    expect(sweep).toEqual({
      vary: [
        { key: 'slo', values: ['10ms', '25ms'] },
        { key: 'policy.scheduleAhead', values: ['1ms', '2ms', '3ms'] },
        { key: 'policy.maxBatch', values: ['1', '2', '4'] },
      ],
      seeds: [1, 2, 3],
    });
  });

  it('may vary an option of any policy that it compares', () => {
    const sweep = read('  vary: { policy.kind: [clockwork, fifo], policy.maxDelay: [1ms, 5ms] }\n');
    expect(sweep?.vary.map(({ key }) => key)).toEqual(['policy.kind', 'policy.maxDelay']);
    expect(failure(() => read('  vary: { policy.maxDelay: 1ms }\n')).code).toBe('E_CONFIG_KEY');
  });

  it('may leave seeds out, list them, or be absent', () => {
    expect(read('  vary: { slo: 10ms }\n')).toEqual({ vary: [{ key: 'slo', values: ['10ms'] }] });
    expect(read('  vary: {}\n  seeds: [4, 5]\n')?.seeds).toEqual([4, 5]);
    expect(readSweepSection(parseExperimentSource(BASE, 'exp.yaml'))).toBeUndefined();
  });

  it.each([
    [
      '  vary: { polcy.maxBatch: 1 }',
      'E_CONFIG_KEY',
      'exp.yaml:8: sweep.vary.polcy.maxBatch: unknown key "polcy.maxBatch": did you mean "policy.maxBatch"?',
    ],
    [
      '  vary:\n    slo: 10ms\n    slo.x: 1',
      'E_CONFIG_KEY',
      /^exp\.yaml:10: sweep\.vary\.slo\.x: unknown key/,
    ],
    [
      '  vary: { slo: "5ms:1ms:1ms" }',
      'E_CONFIG_VALUE',
      /^exp\.yaml:8: sweep\.vary\.slo: 5ms:1ms:1ms is not a range/,
    ],
    [
      '  vary: { slo: { a: 1 } }',
      'E_CONFIG_VALUE',
      /^exp\.yaml:8: sweep\.vary\.slo: must be a range or a list of values/,
    ],
    [
      '  vary: { slo: [] }',
      'E_CONFIG_VALUE',
      /^exp\.yaml:8: sweep\.vary\.slo: must be a range or a list of values/,
    ],
    ['  seeds: 1', 'E_CONFIG_VALUE', 'exp.yaml:7: sweep.vary: is missing, and has no default'],
    [
      '  vary: { slo: 1ms }\n  seeds: one',
      'E_CONFIG_VALUE',
      /^exp\.yaml:9: sweep\.seeds: must be whole numbers/,
    ],
    [
      '  varry: { slo: 1ms }',
      'E_CONFIG_KEY',
      /^exp\.yaml:8: sweep\.varry: unknown key "varry": did you mean "vary"\?/,
    ],
  ])('refuses %s', (sweep, code, message) => {
    const error = failure(() => read(`${sweep}\n`));
    expect(error.code).toBe(code);
    if (typeof message === 'string') expect(error.message).toBe(message);
    else expect(error.message).toMatch(message);
  });
});
