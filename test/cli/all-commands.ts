import { COMMANDS, type Command, FAMILIES } from '../../src/cli/commands/index.js';

/** A command that does something, by its one or two words. */
export interface NamedCommand {
  readonly name: string;
  readonly command: Command;
}

/** Every command, those of families in the place of their family. */
export const ALL_COMMANDS: readonly NamedCommand[] = COMMANDS.flatMap((command) => {
  const [first = ''] = String(command.command).split(' ');
  return (FAMILIES[first] ?? [command]).map((each) => {
    const [own = ''] = String(each.command).split(' ');
    return { name: each === command ? own : `${first} ${own}`, command: each };
  });
});
