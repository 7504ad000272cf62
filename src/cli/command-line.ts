import createYargs, { type Argv } from 'yargs';
import { atItsPlace, type ErrorPlace } from '../base/errors.js';
import { STANDARD_INPUT } from '../base/files/standard-input.js';
import { nearest } from '../base/nearest.js';
import { terminalWidth, writeOut } from '../text/terminal.js';
import { COMMANDS, type Command } from './commands/index.js';
import { withOverrideFiles, withPlugins } from './common-options.js';
import { fillIn, usageError } from './options.js';
import { packageVersion } from './version.js';

const ABOUT =
  'Usage: escapement COMMAND [options]\n\nSchedule DNN inference to latency SLOs: simulate a GPU cluster, tune and ' +
  'compare schedulers, plan capacity, and serve models with the settings you tuned.';

/** Messages of yargs, reworded like our other errors. */
const STRINGS = {
  array: 'repeatable',
  'Not enough non-option arguments: got %s, need at least %s': {
    one: 'missing argument: got %s of %s',
    other: 'missing argument: got %s of %s',
  },
  'Missing required argument: %s': { one: '--%s is required', other: 'required: %s' },
  'Unknown argument: %s': { one: 'unknown argument: %s', other: 'unknown arguments: %s' },
  'Unknown command: %s': { one: 'unknown command: %s', other: 'unknown commands: %s' },
  'Invalid values:': 'invalid value:',
  'Argument: %s, Given: %s, Choices: %s': '--%s %s: must be one of %s',
  'Not enough arguments following: %s': '--%s needs a value',
  'Did you mean %s?': 'unknown command; did you mean %s?',
  'Arguments %s and %s are mutually exclusive': '--%s and --%s cannot be combined: leave one out',
  'Implications failed:': 'missing option:',
};

/** Parses and runs one command line. Throws `EscapementError` for anything the operator can fix. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  const words = args[0] === 'help' ? [...args.slice(1), '--help'] : args;
  const places = new Map<string, ErrorPlace>();
  const parser = commandLine(words, COMMANDS, places);
  try {
    const given = words.map((word) => (word === '-' ? STANDARD_INPUT : word));
    await parser.parseAsync(given, {}, (_error, _args, output) => {
      if (output !== '') writeOut(`${output}\n`);
    });
  } catch (error) {
    if (!isUsageError(error)) throw atItsPlace(error, (override) => places.get(override));
    const help = await parser.getHelp();
    // For flags that need another, yargs writes `flag -> other`; for arguments, how many there are.
    const message = error.message
      .replaceAll(/\n\s*/g, ' ')
      .replaceAll(/(\S+) -> (\S+)/g, '--$1 needs --$2')
      .replaceAll(/ (--\S+ needs --\S+)(?= --)/g, ' $1,')
      .replace(/got (\d+) of \d+$/, (_, got) => help.match(/<[\w.]+>/g)![Number(got)]!);
    throw usageError(`${message}${hintOf(error.message, help)}`);
  }
}

/** yargs with all commands; `words` is the command line to parse, `places` gets the places of overrides in files. */
export function commandLine(
  words: readonly string[] = [],
  commands: readonly Command[] = COMMANDS,
  places = new Map<string, ErrorPlace>(),
): Argv<object> {
  return createYargs([...words])
    .scriptName('escapement')
    .usage(ABOUT)
    .command([...commands])
    .demandCommand(1, 'a command is missing; see escapement --help')
    .strict()
    .recommendCommands()
    .middleware((parsed) => refuseValuesOfSwitches(words, parsed), true)
    .middleware([fillIn, withOverrideFiles(places), withPlugins])
    .completion('completion', 'Print the completion script of bash or zsh')
    .version(packageVersion())
    .help()
    .alias('help', 'h')
    .parserConfiguration({
      'camel-case-expansion': false,
      'dot-notation': false,
      'parse-numbers': false,
      'parse-positional-numbers': false,
    })
    .detectLocale(false)
    .updateStrings(STRINGS as unknown as Record<string, string>)
    .wrap(terminalWidth())
    .exitProcess(false)
    .fail((message, error) => {
      throw error ?? new UsageError(message);
    });
}

class UsageError extends Error {}

/** True for yargs's own errors about unreadable values. */
function isUsageError(error: unknown): error is Error {
  return error instanceof UsageError || (error instanceof Error && error.name === 'YError');
}

/** Rejects values of switches, which yargs would take as false. */
function refuseValuesOfSwitches(words: readonly string[], parsed: Readonly<Record<string, unknown>>): void {
  for (const word of words) {
    const [, name = '', value = ''] = /^--([^=]+)=(.*)$/.exec(word) ?? [];
    if (typeof parsed[name] === 'boolean' && !['true', 'false'].includes(value))
      throw new UsageError(`--${name} takes no value, found ${value}`);
  }
}

/** Suggests the known flag closest to an unknown one, from those in the help. */
function hintOf(message: string, help: string): string {
  const unknown = /^unknown arguments?: ([^,]+)/.exec(message)?.[1];
  if (unknown === undefined) return '';
  const flags = [...help.matchAll(/--([a-z][\w-]*)/g)].map(([, flag]) => flag as string);
  const meant = nearest(unknown, flags);
  return meant === undefined ? '' : `; did you mean --${meant}?`;
}
