import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  beginShard,
  beginWhole,
  checkMark,
  checkWhole,
  endWhole,
  markOf,
} from '../../../src/run/sweep/sweep-folder.js';
import type { Unit } from '../../../src/run/sweep/units.js';
import { tempDir } from '../../cli/run-cli.js';
import { cellTask } from './fixtures.js';

const unitsOf = (...keys: string[]): Unit[] =>
  keys.map((key) => ({ id: key, task: cellTask(key), job: 'runCell' }));
const MARK = markOf(unitsOf('a', 'b'), '1.0.0');

it('lets shards of the same sweep share a folder until it is collected', () => {
  const dir = tempDir();
  expect(checkMark(dir, MARK)).toBe(false);
  beginShard(dir, MARK, false);
  beginShard(dir, markOf(unitsOf('a', 'b'), '1.0.0'), false);
  expect(checkMark(dir, MARK)).toBe(true);
  const other = markOf(unitsOf('c'), '1.0.0');
  expect(() => checkWhole(dir, other)).toThrow('the folder has another sweep');
  endWhole(dir, MARK);
  beginShard(dir, MARK, false);
  // A whole sweep replaces what is finished.
  expect(() => beginShard(dir, other, false)).toThrow('the folder has another sweep');
  checkWhole(dir, other);
  beginWhole(dir, false);
  beginShard(dir, other, false);
});

it.each([
  ['another version', { ...MARK, escapement: '2.0.0' }, /cells of escapement 1\.0\.0, and this is 2\.0\.0/],
  ['another platform', { ...MARK, platform: 'arm64 with V8 9.9' }, /and this is arm64 with V8 9\.9/],
  ['another sweep', markOf(unitsOf('a', 'c'), '1.0.0'), /another sweep: .*--vary/],
])('refuses %s with words, unless it starts over', (_, other, words) => {
  const dir = tempDir();
  beginShard(dir, MARK, false);
  for (const refused of [() => checkMark(dir, other), () => beginShard(dir, other, false)])
    expect(refused).toThrow(
      expect.objectContaining({ code: 'E_RESULTS', message: expect.stringMatching(words) }),
    );
  beginShard(dir, other, true);
  expect(checkMark(dir, other)).toBe(true);
});

it.each(['{"esc', '{}', ''])('refuses a mark that is damaged (%j), unless it starts over', (text) => {
  const dir = tempDir();
  writeFileSync(join(dir, 'sweep.json'), text);
  for (const refused of [() => checkMark(dir, MARK), () => beginShard(dir, MARK, false)])
    expect(refused).toThrow(
      expect.objectContaining({ code: 'E_RESULTS', message: expect.stringContaining('remove the file') }),
    );
  beginShard(dir, MARK, true);
  expect(checkMark(dir, MARK)).toBe(true);
});
