import { spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.js';
import { bashCompletion } from '../../src/cli/completion/bash.js';
import { completionModel } from '../../src/cli/completion/model.js';
import { ROOT, runOk, tempDir, writeIn } from './run-cli.js';

const dir = tempDir();
const scripts: Record<string, string> = {};

beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout } = await runOk(['completion', shell]);
    scripts[shell] = writeIn(dir, `completion.${shell}`, stdout);
  }
});

/** What a person has typed, and what the shell offers; bash has its words in an array, split at "=". */
const TYPED: readonly (readonly [words: string, offered: readonly string[]])[] = [
  ['si', ['simulate']],
  ['trace inf', ['info']],
  ['simulate --se', ['--set', '--seed']],
  ['simulate READ', ['README.md']],
  ['simulate --set policy.sched', ['policy.scheduleAhead=']],
  ['simulate README.md --set policy.kind=clo', ['policy.kind=clockwork']],
  ['serve --log-level w', ['warn']],
  ['serve --repository experime', ['experiments']],
  ['model make resnet18 --precision fp1', ['fp16']],
  ['model make mob', ['mobilenet-v2']],
  ['schema resu', ['results']],
  ['help bou', ['bound']],
];

describe('bash', () => {
  it.each(TYPED)('escapement %s', (words, offered) => {
    const typed = ['escapement', ...words.split(' ')];
    const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _escapement 2>/dev/null; printf '%s\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', scripts.bash!, ...typed], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    expect(stdout.trim().split('\n').sort(), stderr).toEqual([...offered].sort());
  });

  it('completes a value behind "=", which splits words', () => {
    const script = `source "$1"; COMP_WORDS=(escapement simulate --set policy.kind = fi); COMP_CWORD=5; _escapement 2>/dev/null; printf '%s\n' "\${COMPREPLY[@]}"`;
    const { stdout } = spawnSync('bash', ['-c', script, 'bash', scripts.bash!], { encoding: 'utf8' });
    expect(stdout).toBe('fifo\n');
  });
});

describe('fish', () => {
  it.for(TYPED)('escapement %s', ([words, offered], { skip }) => {
    const { stdout, error } = spawnSync(
      'fish',
      ['--no-config', '-c', `source ${scripts.fish}; complete -C "escapement ${words}"`],
      { cwd: ROOT, encoding: 'utf8' },
    );
    if (error !== undefined) skip('fish is not installed');
    const found = stdout.trim().split('\n');
    expect(found.map((line) => line.split('\t')[0]!.replace(/\/$/, '')).sort()).toEqual([...offered].sort());
  });
});

it.each(['bash', 'zsh', 'fish'])('%s accepts its script', (shell) => {
  const { status, stderr, error } = spawnSync(shell, ['-n', scripts[shell]!], { encoding: 'utf8' });
  if (error === undefined) expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  else expect(shell).not.toBe('bash');
});

it('has every command and every flag', async () => {
  const script = bashCompletion(await completionModel(COMMANDS, []));
  for (const { name, usage } of COMMANDS) {
    const flags = Object.keys((await usage()).flags).map((flag) => `--${flag}`);
    expect(script).toContain(`'${name}') flags='${[...flags, '--help'].join(' ')}'`);
  }
});
