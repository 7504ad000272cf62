import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli, SMALL_EXPERIMENT, tempDir, writeIn } from './run-cli.js';

test('a file for CI does not replace the experiment, and is found unwritable before the run', async () => {
  const dir = tempDir();
  const file = writeIn(dir, 'small.yaml', SMALL_EXPERIMENT);
  const link = join(dir, 'link.xml');
  symlinkSync('small.yaml', link);
  mkdirSync(join(dir, 'folder'));
  const refused: [flags: string[], status: number, stderr: RegExp][] = [
    [['--junit', file], 2, /E_USAGE: --junit .*small\.yaml: is the input of this command/],
    [['--junit', link], 2, /E_USAGE: --junit .*link\.xml: is the input of this command/],
    [['--junit', ''], 2, /E_USAGE: --junit needs a value/],
    [['--junit', join(dir, 'folder')], 22, /E_FILE_WRITE: .*folder.*: it is a folder/],
  ];
  for (const [flags, status, stderr] of refused) {
    const got = await runCli(['simulate', file, '--quiet', '--threshold', 'ok>0', ...flags]);
    expect(got, flags.join(' ')).toMatchObject({ status, stdout: '', stderr: expect.stringMatching(stderr) });
  }
  const plan = ['plan', file, '--target', 'ok>0', '--over', 'cluster.gpus=1:2', '--junit', file];
  expect((await runCli(plan)).stderr).toMatch(/E_USAGE: --junit .*: is the input of this command/);
  const [one, same] = [join(dir, 'x'), join(dir, '.', 'x')];
  const both = [...plan.slice(0, -1), one, '--html', same];
  expect((await runCli(both)).stderr).toMatch(/E_USAGE: --junit .*: is also the file of --html/);
  expect(readFileSync(file, 'utf8')).toBe(SMALL_EXPERIMENT);
  expect(existsSync(join(dir, 'x'))).toBe(false);
});

test('a file for CI may be empty, be of an earlier run, or be a pipe', async () => {
  const dir = tempDir();
  const file = writeIn(dir, 'small.yaml', SMALL_EXPERIMENT);
  const junit = writeIn(dir, 'junit.xml', '');
  const run = ['simulate', file, '--quiet', '--threshold', 'ok>0', '--junit'];
  for (let i = 0; i < 2; i++) expect((await runCli([...run, junit])).status).toBe(0);
  expect(readFileSync(junit, 'utf8')).toMatch(/^<\?xml/);
  const pipe = join(dir, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const [{ status }, read] = await Promise.all([runCli([...run, pipe]), readFile(pipe, 'utf8')]);
  expect([status, read.match(/<testcase/g)?.length]).toEqual([0, 1]);
});
