import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HARMLESS, NAME } from '../hostile-name.js';
import { runCli, runOk, SMALL_EXPERIMENT, tempDir, writeIn } from './run-cli.js';

function experiment(dir: string): string {
  const text = SMALL_EXPERIMENT.replace('name: small', `name: ${JSON.stringify(NAME)}`).replace(
    'name: model',
    `name: ${JSON.stringify(NAME)}`,
  );
  return writeIn(dir, 'run.yaml', text);
}

describe('names that are made to take over what shows them', () => {
  it('can only be read on a terminal, in pictures, pages and tables', async () => {
    const dir = tempDir();
    const file = experiment(dir);
    const out = join(dir, 'out');
    const commands = [
      ['simulate', file, '--out', out],
      ['report', out],
      ['check', out],
      ['explain', out],
      ['bound', file],
      ['sweep', file, '--seeds', '1,2', '--threads', '1', '--out', join(dir, 'sweep')],
      ['report', join(dir, 'sweep')],
      ['simulate', file, '--json'],
    ];
    for (const command of commands) {
      const { stdout, stderr } = await runOk(command);
      expect(stdout + stderr, command[0]).toMatch(HARMLESS);
      expect(stdout.length + stderr.length, command[0]).toBeGreaterThan(0);
    }
    const { stdout } = await runOk(['simulate', file, '--json']);
    expect(JSON.parse(stdout).name).toBe(NAME);
    const charts = readdirSync(join(out, 'charts')).filter((name) => name.endsWith('.svg'));
    expect(charts.length).toBeGreaterThan(0);
    for (const name of charts)
      expect(readFileSync(join(out, 'charts', name), 'utf8'), name).toMatch(HARMLESS);
    for (const page of [out, join(dir, 'sweep')])
      expect(readFileSync(join(page, 'report.html'), 'utf8')).not.toContain('\u001b');
    const csv = readFileSync(join(dir, 'sweep', 'results.csv'), 'utf8');
    expect(csv).toMatch(HARMLESS);
    expect(csv).toContain("'=1+");
    expect(csv).not.toMatch(/(?:^|,)"?=/m);
  });

  it.each([
    ['a key', `${JSON.stringify(NAME)}: 1\n`],
    ['a value', `${SMALL_EXPERIMENT}scaler: { kind: ${JSON.stringify(NAME)} }\n`],
    [
      'a path',
      SMALL_EXPERIMENT.replace(/models: .*/, `models: { kind: csv, path: ${JSON.stringify(NAME)} }`),
    ],
  ])('are shown in one line where %s is wrong', async (_, text) => {
    const { status, stderr } = await runCli(['simulate', writeIn(tempDir(), 'run.yaml', text)]);
    expect(status).toBeGreaterThan(1);
    expect(stderr).toMatch(HARMLESS);
    expect(stderr).toMatch(/^escapement: E_[A-Z_]+: [^\n]*\n$/);
  });
});

describe('a named pipe without a writer', () => {
  const pipe = (name = 'pipe') => {
    const path = join(tempDir(), name);
    execFileSync('mkfifo', [path]);
    return path;
  };

  it.each([
    ['simulate', () => ['simulate', pipe()]],
    ['sweep', () => ['sweep', pipe(), '--seeds', '1,2']],
    ['a trace', () => ['trace', 'info', pipe()]],
    ['a packed trace', () => ['trace', 'info', pipe('a.gz')]],
    ['a journal', () => ['replay', pipe()]],
    ['a plugin', () => ['simulate', writeIn(tempDir(), 'run.yaml', SMALL_EXPERIMENT), '--plugin', pipe()]],
    ['results', () => ['report', join(pipe('run.json'), '..')]],
    ['a password', () => ['sweep-worker', '--queue', 'redis://127.0.0.1:1', '--queue-password-file', pipe()]],
    ['a token', () => ['top', '--once', '--token-file', pipe()]],
  ])('ends %s at once, in words', async (_, args) => {
    const { status, stderr } = await runCli(args());
    expect(status).toBeGreaterThan(1);
    expect(stderr).toContain('is a named pipe, not a file');
  });
});
