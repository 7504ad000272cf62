import { EscapementError } from '../base/errors.js';
import { nearest } from '../base/nearest.js';
import { writeErr, writeOut } from '../text/terminal.js';
import { COMMANDS, FAMILIES } from './commands.js';
import { withPlugins } from './overrides.js';
import type { Command } from './usage.js';
import { packageVersion } from './version.js';

/** Commands that are a reference, so that `help keys` shows it and not how to call it. */
const TOPICS = ['keys', 'exit-codes'];

/** Parses and runs one command line. Throws `EscapementError` for whatever the operator can fix. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  const [first, ...rest] = args;
  if (first === undefined) {
    const { overview } = await import('./help.js');
    writeErr(`${overview()}\n`);
    throw new EscapementError('E_USAGE', 'a command is missing');
  }
  if (first === '--version') writeOut(`${packageVersion()}\n`);
  else if (first === 'help' && !TOPICS.includes(rest[0] ?? '')) await showHelp(rest);
  else if (first === '--help' || first === '-h') await showHelp(rest);
  else await runCommand(first === 'help' ? rest : commandFirst(args));
}

/** Flags may precede the command: `--seed 3 simulate FILE`. */
function commandFirst(args: readonly string[]): readonly string[] {
  if (args[0]?.startsWith('-') !== true) return args;
  const firstWords = new Set(COMMANDS.map(({ name }) => name.split(' ')[0]!));
  const at = args.findIndex((arg) => firstWords.has(arg));
  if (at < 0) throw withoutCommand(args[0]);
  const end = at + (FAMILIES.includes(args[at]!) ? 2 : 1);
  return [...args.slice(at, end), ...args.slice(0, at), ...args.slice(end)];
}

function withoutCommand(word: string): EscapementError {
  const flag = word.split('=')[0]!;
  const meant = nearest(flag, ['--help', '--version']);
  const what =
    meant === undefined
      ? `a command is missing: without one there are --help and --version, found ${flag}`
      : `unknown flag ${flag}; did you mean ${meant}?`;
  return new EscapementError('E_USAGE', what);
}

/** Help on the command that the words name, on a family of commands, or on all. */
async function showHelp(words: readonly string[]): Promise<void> {
  const help = await import('./help.js');
  const [first] = words;
  if (first === undefined || first === 'help') writeOut(help.overview());
  else if (FAMILIES.includes(first) && words.length === 1) writeOut(help.familyHelp(first));
  else {
    const { command, args } = find(words);
    if (args.length > 0) {
      const what = `help takes one command: unexpected ${args[0]} after ${command.name}`;
      throw new EscapementError('E_USAGE', what);
    }
    writeOut(help.commandHelp(command, await command.usage()));
  }
}

async function runCommand(words: readonly string[]): Promise<void> {
  const [first, second] = words;
  const isFamily = first !== undefined && FAMILIES.includes(first);
  if (isFamily && (second === '--help' || second === '-h')) {
    await showHelp([first]);
    return;
  }
  const { command, args } = find(words);
  const { parse } = await import('./parse.js');
  const parsed = parse(await command.usage(), args, command.name);
  if (parsed.asks === 'run') await command.run(withPlugins(parsed.args) as never, COMMANDS);
  else if (parsed.asks === 'help') await showHelp(command.name.split(' '));
  else writeOut(`${packageVersion()}\n`);
}

/** The command that the first words name, and the words behind them. Throws `E_USAGE`. */
function find(words: readonly string[]): { readonly command: Command; readonly args: readonly string[] } {
  const [first = '', second = ''] = words;
  const isFamily = FAMILIES.includes(first);
  const name = isFamily ? `${first} ${second}` : first;
  const command = COMMANDS.find((one) => one.name === name);
  if (command !== undefined) return { command, args: words.slice(isFamily ? 2 : 1) };
  const names = COMMANDS.map((one) => one.name);
  if (isFamily && (second === '' || second.startsWith('-'))) {
    const own = names.filter((one) => one.startsWith(`${first} `));
    throw new EscapementError('E_USAGE', `${first} needs a subcommand: ${own.join(', ')}`);
  }
  const meant = nearest(name, [...names, ...FAMILIES, 'help']);
  const hint = meant === undefined ? 'see escapement --help' : `did you mean ${meant}?`;
  throw new EscapementError('E_USAGE', `unknown command ${name}; ${hint}`);
}
