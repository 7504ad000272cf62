import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createNumbered, numberedFiles } from '../../../src/base/files/numbered-files.js';
import { tempDir, writeIn } from '../../cli/run-cli.js';

describe('createNumbered', () => {
  it.each([
    ['log', ['log', 'log.1', 'log.2']],
    ['log.gz', ['log.gz', 'log.1.gz', 'log.2.gz']],
    ['run.5', ['run.5', 'run.5.1', 'run.5.2']],
  ])('gives %s the names %j, one after the other', (name, names) => {
    const dir = tempDir();
    const made = names.map(() => createNumbered(join(dir, name)).path);
    expect(made).toEqual(names.map((each) => join(dir, each)));
    expect(readdirSync(dir).sort()).toEqual(names.toSorted());
  });

  it('goes on after the highest number, although lower ones are free', () => {
    const dir = tempDir();
    writeIn(dir, 'log.9', '');
    writeIn(dir, 'log.10', '');
    expect(createNumbered(join(dir, 'log')).path).toBe(join(dir, 'log.11'));
  });

  it('does not follow a link to nowhere', () => {
    const dir = tempDir();
    symlinkSync(join(dir, 'elsewhere'), join(dir, 'log'));
    expect(createNumbered(join(dir, 'log')).path).toBe(join(dir, 'log.1'));
    expect(readdirSync(dir).sort()).toEqual(['log', 'log.1']);
  });
});

describe('numberedFiles', () => {
  it('finds them oldest first, and nothing else', () => {
    const dir = tempDir();
    const names = [
      'log',
      'log.2',
      'log.10',
      'log.old',
      'log.01',
      'log.1.gz',
      'log.3.partial',
      'xlog.4',
      'log.',
    ];
    for (const name of names) writeIn(dir, name, name);
    mkdirSync(join(dir, 'log.7'));
    const found = numberedFiles(join(dir, 'log'));
    expect(found.map(({ path, number, bytes }) => [path, number, bytes])).toEqual([
      [join(dir, 'log'), 0, 3],
      [join(dir, 'log.2'), 2, 5],
      [join(dir, 'log.10'), 10, 6],
    ]);
    expect(numberedFiles(join(dir, 'log.gz')).map(({ number }) => number)).toEqual([1]);
  });

  it('finds nothing in a folder that does not exist', () => {
    expect(numberedFiles('/nowhere/log')).toEqual([]);
  });
});

it('no two processes get the same file', async () => {
  const { runOnce } = await import('./numbered-racer.js');
  const name = join(tempDir(), 'log');
  writeFileSync(name, '');
  const made = (await Promise.all([runOnce(name), runOnce(name), runOnce(name)])).flat();
  expect(made).toHaveLength(300);
  expect(new Set(made).size).toBe(300);
});
