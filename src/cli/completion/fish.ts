import { type CompletedCommand, type CompletionModel, families, firstWords, type Offer } from './model.js';

/** The completion of fish. */
export function fishCompletion(model: CompletionModel): string {
  const two = [...families(model)];
  const firsts = firstWords(model);
  const lines = [
    '# Completion of escapement for fish. In ~/.config/fish/config.fish: escapement completion fish | source',
    'complete -c escapement -f',
    ...firsts.map(({ name, summary }) => `${AT_FIRST} -a ${quoted(name)} -d ${quoted(summary)}`),
    `${AT_FIRST} -a help -d 'Show help'`,
    `complete -c escapement -n '__fish_seen_subcommand_from help' -a ${quoted(firsts.map(({ name }) => name).join(' '))}`,
    `${AT_FIRST} -l help -s h -d 'Show help'`,
    `${AT_FIRST} -l version -d 'Show the version'`,
    ...two.flatMap(([first, own]) => {
      const seconds = own.map(({ name }) => name.split(' ')[1] ?? '');
      const condition = `__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${seconds.join(' ')}`;
      return own.map(
        ({ summary }, i) =>
          `complete -c escapement -n ${quoted(condition)} -a ${quoted(seconds[i] ?? '')} -d ${quoted(summary)}`,
      );
    }),
    ...model.commands.flatMap((command) => commandLines(command, model.overrides)),
  ];
  return `${lines.join('\n')}\n`;
}

const AT_FIRST = 'complete -c escapement -n __fish_use_subcommand';

function commandLines(
  { name, flags, arguments: args }: CompletedCommand,
  overrides: readonly string[],
): string[] {
  const condition = name
    .split(' ')
    .map((word) => `__fish_seen_subcommand_from ${word}`)
    .join('; and ');
  const begin = `complete -c escapement -n ${quoted(condition)}`;
  return [
    ...flags.map(({ name: flag, describe, takesValue, ...offer }) => {
      const value = takesValue ? ` -r ${offered(offer, overrides)}` : '';
      return `${begin} -l ${flag.slice(2)} -d ${quoted(describe)}${value}`.trimEnd();
    }),
    ...args.map((arg) => `${begin} ${offered(arg, overrides)}`.trimEnd()),
  ];
}

function offered({ words, completes }: Offer, overrides: readonly string[]): string {
  if (words.length > 0) return `-a ${quoted(words.join(' '))}`;
  if (completes === 'file') return '-F';
  if (completes === 'folder') return "-a '(__fish_complete_directories)'";
  return completes === 'override' ? `-a ${quoted(overrides.join(' '))}` : '';
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
