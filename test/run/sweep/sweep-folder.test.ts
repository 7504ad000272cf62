import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { beginShard, checkMark, endWhole, markOf } from '../../../src/run/sweep/sweep-folder.js';
import type { Unit } from '../../../src/run/sweep/units.js';
import { tempDir } from '../../cli/run-cli.js';
import { cellTask } from './fixtures.js';

const unitsOf = (...keys: string[]): Unit[] =>
  keys.map((key) => ({ id: key, task: cellTask(key), job: 'runCell' }));
const HEADER = { name: 'test', experiment: '', defaults: {}, vary: [], seeds: [1] };
const MARK = markOf(unitsOf('a', 'b'), '1.0.0');

it('lets shards of the same sweep share a folder until it is collected', () => {
  const dir = tempDir();
  expect(checkMark(dir, MARK)).toBe(false);
  beginShard(dir, HEADER, MARK, false);
  beginShard(dir, HEADER, markOf(unitsOf('a', 'b'), '1.0.0'), false);
  expect(checkMark(dir, MARK)).toBe(true);
  endWhole(dir);
  endWhole(dir);
  expect(existsSync(join(dir, 'shards.json'))).toBe(false);
});

it.each([
  ['another version', { ...MARK, escapement: '2.0.0' }, /shards of escapement 1\.0\.0, and this is 2\.0\.0/],
  ['another platform', { ...MARK, platform: 'arm64 with V8 9.9' }, /and this is arm64 with V8 9\.9/],
  ['another sweep', markOf(unitsOf('a', 'c'), '1.0.0'), /shards of another sweep: .*--vary/],
])('refuses %s with words, unless it starts over', (_, other, words) => {
  const dir = tempDir();
  beginShard(dir, HEADER, MARK, false);
  for (const refused of [() => checkMark(dir, other), () => beginShard(dir, HEADER, other, false)])
    expect(refused).toThrow(
      expect.objectContaining({ code: 'E_RESULTS', message: expect.stringMatching(words) }),
    );
  beginShard(dir, HEADER, other, true);
  expect(checkMark(dir, other)).toBe(true);
});

it.each(['{"esc', '{}', ''])('refuses a mark that is damaged (%j), unless it starts over', (text) => {
  const dir = tempDir();
  writeFileSync(join(dir, 'shards.json'), text);
  for (const refused of [() => checkMark(dir, MARK), () => beginShard(dir, HEADER, MARK, false)])
    expect(refused).toThrow(
      expect.objectContaining({ code: 'E_RESULTS', message: expect.stringContaining('remove the file') }),
    );
  beginShard(dir, HEADER, MARK, true);
  expect(checkMark(dir, MARK)).toBe(true);
});
