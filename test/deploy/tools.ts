import { spawnSync } from 'node:child_process';
import { COMMANDS } from '../../src/cli/commands.js';
import { parse } from '../../src/cli/parse.js';

/** Empty where a program is installed, otherwise what is missing and the Debian package that has it. */
export function missing(program: string, debianPackage: string): string {
  const { error } = spawnSync(program, ['--help'], { stdio: 'ignore' });
  return error === undefined ? '' : `${program} is not installed: apt-get install ${debianPackage}`;
}

/** The flags of a command line without the leading `escapement`, as the command reads them. Throws what it would. */
export async function readCommandLine(words: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const command = COMMANDS.find(({ name }) => name === words[0]);
  if (command === undefined) throw new Error(`no command ${words[0]}`);
  const parsed = parse(await command.usage(), words.slice(1), command.name, {});
  if (parsed.asks !== 'run') throw new Error(`${words.join(' ')} runs nothing`);
  return parsed.args;
}
