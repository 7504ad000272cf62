import { describe, expect, it } from 'vitest';
import { readShard } from '../../src/cli/shard.js';

const slurm = (id: number, count: number, min: number, max: number) => ({
  SLURM_ARRAY_TASK_ID: String(id),
  SLURM_ARRAY_TASK_COUNT: String(count),
  SLURM_ARRAY_TASK_MIN: String(min),
  SLURM_ARRAY_TASK_MAX: String(max),
});

describe('--shard', () => {
  it('is a part and the number of parts, from 1', () => {
    expect(readShard('1/1', {})).toEqual({ index: 1, count: 1 });
    expect(readShard('3/4', slurm(1, 2, 0, 1))).toEqual({ index: 3, count: 4 });
  });

  it.each([
    ['0/4', 'part 0 does not exist: they are 1/4 to 4/4'],
    ['5/4', 'part 5 does not exist'],
    ['1/0', 'at least 1'],
    ['4', 'write I/N'],
    ['/4', 'write I/N'],
    ['1/2/3', 'write I/N'],
    ['one/4', 'whole number'],
    ['1/', 'whole number'],
  ])('%s is refused with words', (text, words) => {
    expect(() => readShard(text, {})).toThrow(
      expect.objectContaining({ code: 'E_USAGE', message: expect.stringContaining(words) }),
    );
  });

  it.each([
    ['an array from 0', [0, 1, 2, 3], slurm],
    ['an array from 1', [1, 2, 3, 4], slurm],
    ['an array with steps', [10, 13, 16, 19], slurm],
    ['an array of one task', [7], slurm],
  ])('auto gives each task of %s a part of its own', (_, ids, environment) => {
    const [min, max] = [ids[0]!, ids.at(-1)!];
    const shards = ids.map((id) => readShard('auto', environment(id, ids.length, min, max)));
    expect(shards).toEqual(ids.map((_, i) => ({ index: i + 1, count: ids.length })));
    expect(readShard(`auto/${ids.length}`, environment(max, ids.length, min, max))).toEqual(shards.at(-1));
  });

  it('auto/N takes the index of a Kubernetes Job, which counts from 0', () => {
    expect(readShard('auto/8', { JOB_COMPLETION_INDEX: '0' })).toEqual({ index: 1, count: 8 });
    expect(readShard('auto/8', { JOB_COMPLETION_INDEX: '7' })).toEqual({ index: 8, count: 8 });
  });

  it.each([
    ['auto', {}, 'neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set'],
    ['auto', { JOB_COMPLETION_INDEX: '0' }, 'write auto/N'],
    ['auto/8', { JOB_COMPLETION_INDEX: '8' }, 'JOB_COMPLETION_INDEX is 8: part 9 does not exist'],
    ['auto/8', { JOB_COMPLETION_INDEX: 'two' }, 'JOB_COMPLETION_INDEX two: must be a whole number'],
    ['auto', { ...slurm(2, 4, 1, 4), SLURM_ARRAY_TASK_MAX: '' }, 'SLURM_ARRAY_TASK_MAX must be'],
    ['auto', slurm(9, 4, 1, 4), 'SLURM_ARRAY_TASK_ID is 9: part 9 does not exist'],
    ['auto/8', slurm(2, 4, 1, 4), 'the array has 4 tasks'],
    ['auto', { SLURM_ARRAY_TASK_ID: '2' }, 'SLURM_ARRAY_TASK_COUNT is not set'],
    ['auto', slurm(2, 3, 1, 6), 'not evenly spaced'],
    ['auto', slurm(3, 3, 1, 7), 'not evenly spaced'],
  ])('%s says what it cannot make of %o', (text, environment, words) => {
    expect(() => readShard(text, environment)).toThrow(
      expect.objectContaining({ code: 'E_USAGE', message: expect.stringContaining(words) }),
    );
  });
});
