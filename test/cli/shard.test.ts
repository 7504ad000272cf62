import { describe, expect, it } from 'vitest';
import { shardOf } from '../../src/cli/commands/sweep.js';
import { partOf } from '../../src/run/sweep/units.js';
import { cellTask } from '../run/sweep/fixtures.js';

describe('--shard', () => {
  it('is a part and the number of parts', () => {
    expect(shardOf('1/1')).toEqual({ index: 1, count: 1 });
    expect(shardOf('3/4')).toEqual({ index: 3, count: 4 });
  });

  it('counts parts from 0 or from 1, as arrays of batch systems are', () => {
    const units = ['a', 'b', 'c', 'd', 'e'].map((id) => ({
      id,
      task: cellTask(id),
      job: 'runCell' as const,
    }));
    const parts = (indexes: readonly number[]) =>
      indexes.flatMap((index) => partOf(units, shardOf(`${index}/3`))).map(({ id }) => id);
    for (const indexes of [
      [0, 1, 2],
      [1, 2, 3],
    ])
      expect(parts(indexes).sort().join('')).toBe('abcde');
  });

  it.each(['5/4', '1/0', '4', '/4', '1/2/3', 'one/4', '1/', 'auto'])('%s is refused', (text) => {
    expect(() => shardOf(text)).toThrow('write I/N');
  });
});
