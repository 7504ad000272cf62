import { describe, expect, it } from 'vitest';
import { parseVary, variableKeys } from '../../../src/tools/bench/vary.js';

describe('--vary', () => {
  it('takes one key and its values', () => {
    expect(parseVary('runtime.intraOpThreads=1, 2,4')).toEqual({
      key: 'runtime.intraOpThreads',
      values: ['1', '2', '4'],
    });
    expect(parseVary('policy.maxBatch=4').values).toEqual(['4']);
    expect(parseVary('slo=20ms,1s').key).toBe('slo');
  });

  it('knows all of runtime and policy, and nothing of a simulation', () => {
    const keys = variableKeys();
    expect(keys).toEqual(
      expect.arrayContaining(['runtime.precision', 'policy.scheduleAhead', 'policy.kind']),
    );
    expect(keys.filter((key) => key.startsWith('cluster.') || key.startsWith('workload.'))).toEqual([]);
  });

  it.each([
    [
      'runtime.intraThreads=1,2',
      'no stage depends on runtime.intraThreads: did you mean "runtime.intraOpThreads"?',
    ],
    ['cluster.gpus=1,2', 'no stage depends on cluster.gpus'],
    ['runtime.arena', 'write KEY=v1,v2'],
    ['=1', 'write KEY=v1,v2'],
    ['runtime.arena=true,', 'a value is empty'],
    ['runtime.arena=true,true', 'duplicate value'],
    ['gpus=1,x', 'gpus is a whole number from 1 to 1024'],
    ['gpus=0', 'gpus is a whole number from 1 to 1024'],
    ['gpus=1,2000', 'gpus is a whole number from 1 to 1024'],
  ])('refuses %s', (text, message) => {
    expect(() => parseVary(text)).toThrow(`--vary ${text}: ${message}`);
  });
});
