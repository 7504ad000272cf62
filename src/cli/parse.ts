import { Parser } from 'yargs/helpers';
import { EscapementError } from '../base/errors.js';
import { STANDARD_INPUT } from '../base/files/standard-input.js';
import { nearest } from '../base/nearest.js';
import type { Flag } from './flag.js';
import { renamedFlag } from './renamed.js';
import { type Usage, valueText } from './usage.js';

/** What a command line asks of its command. */
type Parsed =
  | { readonly asks: 'help' | 'version' }
  | { readonly asks: 'run'; readonly args: Readonly<Record<string, unknown>> };

/** Reads the arguments and flags of a command, in any order. Throws `E_USAGE`. */
export function parse(
  { arguments: wanted, flags }: Usage,
  args: readonly string[],
  command: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Parsed {
  const { _: positionals, help, h, version, ...given } = read(flags, args);
  if (help === true || h === true) return { asks: 'help' };
  if (version === true) return { asks: 'version' };
  const texts = Object.entries(flags).map(([name, flag]) =>
    givenValues(given[name], name, flag, environment),
  );
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(flags, name)) throw unknownFlag(name, flags, command);
  }
  const values: Record<string, unknown> = {};
  for (const [i, [name, flag]] of Object.entries(flags).entries()) {
    values[name] = flag.read(texts[i]!, `--${name}`);
  }
  return { asks: 'run', args: { ...values, ...argumentsOf(wanted, positionals.map(String), command) } };
}

/** Positional arguments, and values of flags by name. */
interface Given extends Readonly<Record<string, unknown>> {
  readonly _: readonly (string | number)[];
}

/** Splits a command line. Values stay text: each flag reads its own, and reports what is wrong in its words. */
function read(flags: Usage['flags'], args: readonly string[]): Given {
  const isSwitch = (name: string) => flags[name]?.value === '';
  const names = Object.keys(flags);
  // yargs would take any word for a switch as false.
  const odd = args.find(
    (arg) => /^--[^=]+=(?!true$|false$)/.test(arg) && isSwitch(arg.slice(2, arg.indexOf('='))),
  );
  if (odd !== undefined) {
    const [name, value] = odd.split('=', 2);
    throw new EscapementError('E_USAGE', `${name} takes no value, found ${value}`);
  }
  return Parser(
    withNegativeValues(flags, args).map((arg) => (arg === '-' ? STANDARD_INPUT : arg)),
    {
      boolean: [...names.filter(isSwitch), 'help', 'h', 'version'],
      string: names.filter((name) => !isSwitch(name)),
      configuration: {
        'boolean-negation': false,
        'camel-case-expansion': false,
        'dot-notation': false,
        'parse-numbers': false,
        'parse-positional-numbers': false,
        'short-option-groups': false,
      },
    },
  );
}

/** `--rate -5/s` as `--rate=-5/s`: yargs would read a flag of the name `5/s`. */
function withNegativeValues(flags: Usage['flags'], args: readonly string[]): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const last = joined.at(-1) ?? '';
    const takesValue = last.startsWith('--') && (flags[last.slice(2)]?.value ?? '') !== '';
    if (takesValue && /^-[\d.]/.test(arg) && !joined.includes('--')) joined.splice(-1, 1, `${last}=${arg}`);
    else joined.push(arg);
  }
  return joined;
}

function givenValues(
  given: unknown,
  name: string,
  flag: Flag<unknown>,
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const fallback = flag.variable === null ? '' : (environment[flag.variable] ?? '');
  const values = [given ?? (fallback === '' ? [] : fallback)].flat().map(String);
  if (flag.value !== '' && values.includes('')) {
    throw new EscapementError('E_USAGE', `--${name} needs a value: --${name} ${valueText(flag)}`);
  }
  return values;
}

function argumentsOf(
  wanted: Usage['arguments'],
  positionals: readonly string[],
  command: string,
): Record<string, unknown> {
  const rest = [...positionals];
  const values: Record<string, unknown> = {};
  for (const [name, argument] of Object.entries(wanted)) {
    const taken = rest.splice(0, argument.repeats ? rest.length : 1);
    if (taken.length === 0 && argument.required) {
      const what = `<${name}> is missing; see escapement ${command} --help`;
      throw new EscapementError('E_USAGE', `${command}: ${what}`);
    }
    values[name] = argument.read(taken, name);
  }
  if (rest.length === 0) return values;
  throw new EscapementError(
    'E_USAGE',
    `${command}: unexpected argument ${rest[0]}; see escapement ${command} --help`,
  );
}

function unknownFlag(name: string, flags: Usage['flags'], command: string): EscapementError {
  const rawName = name.length === 1 ? `-${name}` : `--${name}`;
  const renamed = renamedFlag(name, flags);
  if (renamed !== undefined) {
    return new EscapementError('E_USAGE', `${rawName} was renamed to --${renamed}`);
  }
  const meant = nearest(name, Object.keys(flags));
  const help = `see escapement ${command} --help`;
  // Whether it is such a key is not known here: the schema of experiments is not loaded for a usage error.
  const keys = Object.hasOwn(flags, 'set') && name.length > 1;
  const other = keys ? `${help}; a key of the experiment is written --set ${name}=VALUE` : help;
  const hint = meant === undefined ? other : `did you mean --${meant}?`;
  return new EscapementError('E_USAGE', `unknown flag ${rawName}; ${hint}`);
}
