import { describe, expect, it } from 'vitest';
import { parseVary, variableKeys } from '../../../src/tools/bench/vary.js';

describe('--vary', () => {
  it('takes one key and its values', () => {
    expect(parseVary('runtime.intraOpThreads=1, 2,4')).toEqual({
      key: 'runtime.intraOpThreads',
      values: ['1', '2', '4'],
    });
    expect(parseVary('batchSize=1,8').values).toEqual(['1', '8']);
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
    ['batchSize=0,2', 'batchSize is a whole number, at least 1'],
    ['batchSize=two', 'batchSize is a whole number, at least 1'],
    ['gpus=1,x', 'gpus is a whole number, at least 1'],
    ['gpus=1,2000', 'at most 1024 GPUs'],
  ])('refuses %s', (text, message) => {
    expect(() => parseVary(text)).toThrow(`--vary ${text}: ${message}`);
  });
});
