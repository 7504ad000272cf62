import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { runCli, tempDir, words } from '../run-cli.js';

test('generate makes a trace that info reads, the same one from the same seed', async () => {
  const dir = tempDir();
  const generate = (name: string, seed: string) =>
    runCli(words`trace generate --functions 40 --minutes 30 --rate 20/s --seed ${seed} ${join(dir, name)}`);
  await Promise.all([generate('a.csv.gz', '1'), generate('b.csv.gz', '1'), generate('c.csv.gz', '2')]);
  const read = (name: string) => gunzipSync(readFileSync(join(dir, name)));
  expect(read('b.csv.gz').equals(read('a.csv.gz'))).toBe(true);
  expect(read('c.csv.gz').equals(read('a.csv.gz'))).toBe(false);
  const { stdout } = await runCli(['trace', 'info', join(dir, 'a.csv.gz'), '--json']);
  const info = JSON.parse(stdout);
  expect(info).toMatchObject({ kind: 'azure-2019', functions: 40, minutes: 30 });
  expect(info.meanRps).toBeCloseTo(20, 0);
});
