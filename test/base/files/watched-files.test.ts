import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { WatchedFiles } from '../../../src/base/files/watched-files.js';
import { tempDir } from '../../cli/run-cli.js';

/** Two files that can be used if they hold the same. */
function watched() {
  const folder = tempDir();
  const paths = { a: join(folder, 'a'), b: join(folder, 'b') };
  const put = (a: string, b: string) => {
    writeFileSync(paths.a, a);
    writeFileSync(paths.b, b);
  };
  put('1', '1');
  const used: string[] = [];
  const complaints: string[] = [];
  let restored = 0;
  let looks = 0;
  const files = new WatchedFiles({
    paths: [paths.a, paths.b],
    contents: [Buffer.from('1'), Buffer.from('1')],
    use: ([a, b]) => {
      looks++;
      if (!a!.equals(b!)) throw new Error(`${a} is not ${b}`);
      used.push(String(a));
    },
    failed: ({ message }) => complaints.push(message),
    restored: () => {
      restored++;
    },
    lookMs: 5,
  });
  onTestFinished(() => files.close());
  return { paths, put, used, complaints, looks: () => looks, restored: () => restored };
}

it('files that cannot be used, or are gone, are complained of once, until that changes', async () => {
  const { paths, put, used, complaints, looks } = watched();
  put('2', '1');
  await expect.poll(looks).toBeGreaterThan(5);
  expect(complaints).toEqual(['2 is not 1']);
  rmSync(paths.b);
  await expect.poll(() => complaints.length).toBe(2);
  expect(complaints[1]).toContain('ENOENT');
  put('2', '2');
  await expect.poll(() => used).toEqual(['2']);
});

it('files that hold again what is in use are reported once, and only after a complaint', async () => {
  const { put, used, complaints, restored } = watched();
  put('1', '0');
  await expect.poll(() => complaints).toEqual(['1 is not 0']);
  expect(restored()).toBe(0);
  put('1', '1');
  await expect.poll(restored).toBe(1);
  put('2', '2');
  await expect.poll(() => used).toEqual(['2']);
  expect([restored(), complaints.length]).toEqual([1, 1]);
});
