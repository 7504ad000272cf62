import { spawnSync } from 'node:child_process';
import { commandLine } from '../../src/cli/command-line.js';
import { COMMANDS } from '../../src/cli/commands/index.js';

/** Empty where a program is installed, otherwise what is missing and the Debian package that has it. */
export function missing(program: string, debianPackage: string): string {
  const { error } = spawnSync(program, ['--help'], { stdio: 'ignore' });
  return error === undefined ? '' : `${program} is not installed: apt-get install ${debianPackage}`;
}

/** The flags of a command line without the leading `escapement`, as the command reads them. Throws what it would. */
export async function readCommandLine(words: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  let read: Readonly<Record<string, unknown>> | undefined;
  const commands = COMMANDS.map((command) => ({
    ...command,
    handler: (args: Readonly<Record<string, unknown>>) => {
      read = args;
    },
  }));
  await commandLine(words, commands).parseAsync(words);
  if (read === undefined) throw new Error(`${words.join(' ')} runs nothing`);
  return read;
}
