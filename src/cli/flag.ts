import { EscapementError } from '../base/errors.js';
import { nearest } from '../base/nearest.js';
import { parseBytes, parseDuration } from '../config/units-text.js';

/** What a shell offers for a value. */
export type Completes = 'file' | 'folder' | 'override' | 'nothing';

/** A flag or argument of a command: what the help says of it, and how its text is read. */
export interface Flag<T> {
  /** The kind of value as the help shows it, e.g. `NUMBER` or `KEY=VALUE`; empty for a switch. */
  readonly value: string;
  readonly describe: string;
  /** The default as the help shows it; null: none. */
  readonly byDefault: string | null;
  /** Environment variable that counts where the flag is not given; null: none. */
  readonly variable: string | null;
  readonly choices: readonly string[];
  readonly repeats: boolean;
  readonly required: boolean;
  readonly completes: Completes;
  /** Heading of the help that lists it. */
  readonly group: string;
  /** From all values given, in order. `name` is how errors call it: `--seed`. Throws `E_USAGE`. */
  readonly read: (given: readonly string[], name: string) => T;
}

export type Flags = Readonly<Record<string, Flag<unknown>>>;

/** The values of flags by name. */
export type ValuesOf<F extends Flags> = {
  readonly [Name in keyof F]: F[Name] extends Flag<infer T> ? T : never;
};

/** A value as it was given; undefined where it was not. */
export function text(
  value: string,
  describe: string,
  shownDefault: string | null = null,
): Flag<string | undefined> {
  return { ...flag(value, describe, optional(asGiven)), byDefault: shownDefault };
}

/** The same with a default. */
export function textOr(value: string, byDefault: string, describe: string): Flag<string> {
  return { ...flag(value, describe, orDefault(byDefault, asGiven)), byDefault };
}

/** An address to listen on; IPv6 may stand in brackets, as in a URL. */
export function addressOr(byDefault: string, describe: string): Flag<string> {
  const read = (given: string) => given.replace(/^\[([0-9a-fA-F:.]+)\]$/, '$1');
  return { ...flag('ADDRESS', describe, orDefault(byDefault, read)), byDefault };
}

/** A whole number of at least `min`; undefined where it was not given. */
export function whole(
  min: number,
  describe: string,
  shownDefault: string | null = null,
): Flag<number | undefined> {
  return { ...flag('NUMBER', describe, optional(wholeOf(min))), byDefault: shownDefault };
}

/** The same with a default. */
export function wholeOr(min: number, byDefault: number, describe: string): Flag<number> {
  return {
    ...flag('NUMBER', describe, orDefault(String(byDefault), wholeOf(min))),
    byDefault: String(byDefault),
  };
}

/** The same, or null for `off`. */
export function wholeOrOff(min: number, byDefault: number, describe: string): Flag<number | null> {
  const read = orDefault(String(byDefault), (given, name) =>
    given === 'off' ? null : wholeNumber(given, name, min),
  );
  return { ...flag('NUMBER', describe, read), byDefault: String(byDefault) };
}

/** A duration in ns; undefined where it was not given. */
export function duration(describe: string, shownDefault: string): Flag<number | undefined> {
  return { ...flag('DURATION', describe, optional(nsOf)), byDefault: shownDefault };
}

/** The same with a default. */
export function durationOr(byDefault: string, describe: string): Flag<number> {
  return { ...flag('DURATION', describe, orDefault(byDefault, nsOf)), byDefault };
}

/** The same, longer than 0, or null for `off`. */
export function durationOrOff(byDefault: string, describe: string): Flag<number | null> {
  const read = orDefault(byDefault, (given, name) => (given === 'off' ? null : longNsOf(given, name)));
  return { ...flag('DURATION', describe, read), byDefault };
}

/** A size in bytes, at least one; undefined where it was not given. */
export function size(describe: string, shownDefault: string | null = null): Flag<number | undefined> {
  return { ...flag('SIZE', describe, optional(bytesOf)), byDefault: shownDefault };
}

/** The same with a default. */
export function sizeOr(byDefault: string, describe: string): Flag<number> {
  return { ...flag('SIZE', describe, orDefault(byDefault, bytesOf)), byDefault };
}

/** The same, or null for `off`. */
export function sizeOrOff(byDefault: string, describe: string): Flag<number | null> {
  const read = orDefault(byDefault, (given, name) => (given === 'off' ? null : bytesOf(given, name)));
  return { ...flag('SIZE', describe, read), byDefault };
}

/** A port, or null for `off`. */
export function portOr(byDefault: string, describe: string): Flag<number | null> {
  return { ...flag('PORT', describe, orDefault(byDefault, portOf)), byDefault };
}

/** One of a few words; undefined where it was not given. */
export function choice<const C extends string>(choices: readonly C[], describe: string): Flag<C | undefined> {
  return { ...flag('WORD', describe, optional(oneOf(choices))), choices };
}

/** The same with a default. */
export function choiceOr<const C extends string>(
  choices: readonly C[],
  byDefault: NoInfer<C>,
  describe: string,
): Flag<C> {
  return { ...flag('WORD', describe, orDefault(byDefault, oneOf(choices))), choices, byDefault };
}

/** A flag that may be given many times. */
export function list(value: string, describe: string): Flag<readonly string[]> {
  return { ...flag(value, describe, (given) => given), repeats: true };
}

/** A flag without a value. */
export function toggle(describe: string): Flag<boolean> {
  return flag('', describe, (given) => given.at(-1) === 'true');
}

/** The same flag, which an environment variable can give in place of the command line. */
export function orVariable<T>(variable: string, of: Flag<T>): Flag<T> {
  return { ...of, variable, describe: `${of.describe}; environment variable: ${variable}` };
}

/** The same flag, which has to be given. */
export function required<T>(optional: Flag<T | undefined>): Flag<T> {
  const read = (given: readonly string[], name: string) => {
    const value = optional.read(given, name);
    if (value !== undefined) return value;
    throw new EscapementError('E_USAGE', `${name} is required`);
  };
  return { ...optional, required: true, read };
}

/** The same flags under a heading of the help. */
export function group<F extends Flags>(heading: string, flags: F): F {
  const grouped = Object.entries(flags).map(([name, of]) => [name, { ...of, group: heading }]);
  return Object.fromEntries(grouped) as F;
}

/** The kind of value that `FILE`, `FOLDER`, `KEY=VALUE` and their like stand for. */
function completesOf(value: string): Completes {
  if (/FILE|PATH/.test(value)) return 'file';
  if (/FOLDER/.test(value)) return 'folder';
  return value.startsWith('KEY=') ? 'override' : 'nothing';
}

function flag<T>(value: string, describe: string, read: Flag<T>['read']): Flag<T> {
  return {
    value,
    describe,
    read,
    byDefault: null,
    variable: null,
    choices: [],
    repeats: false,
    required: false,
    completes: completesOf(value),
    group: 'Options',
  };
}

type ReadOne<T> = (text: string, name: string) => T;

function optional<T>(read: ReadOne<T>): Flag<T | undefined>['read'] {
  return (given, name) => {
    const one = single(given, name);
    return one === undefined ? undefined : read(one, name);
  };
}

function orDefault<T>(byDefault: string, read: ReadOne<T>): Flag<T>['read'] {
  return (given, name) => read(single(given, name) ?? byDefault, name);
}

/** Giving a flag twice is a mistake rather than a silent choice. */
function single(given: readonly string[], name: string): string | undefined {
  if (given.length < 2) return given[0];
  throw new EscapementError('E_USAGE', `${name} was given more than once (${given.join(', ')})`);
}

const asGiven: ReadOne<string> = (given) => given;

function wholeOf(min: number): ReadOne<number> {
  return (given, name) => wholeNumber(given, name, min);
}

/** A whole number of at least `min`. Throws `E_USAGE`. */
export function wholeNumber(given: string, name: string, min: number): number {
  const value = /^\d+$/.test(given.trim()) ? Number(given) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new EscapementError('E_USAGE', `${name} ${given}: must be a whole number, at least ${min}`);
}

const nsOf: ReadOne<number> = (given, name) => {
  try {
    return parseDuration(given);
  } catch {
    throw new EscapementError('E_USAGE', `${name} ${given}: must be a duration such as 30s or 2ms`);
  }
};

const longNsOf: ReadOne<number> = (given, name) => {
  const ns = nsOf(given, name);
  if (ns > 0) return ns;
  throw new EscapementError('E_USAGE', `${name} ${given}: must be longer than 0, or off`);
};

const bytesOf: ReadOne<number> = (given, name) => {
  let bytes = 0;
  try {
    bytes = parseBytes(given);
  } catch {
    // Reported below, as a size of 0 is.
  }
  if (bytes >= 1) return bytes;
  throw new EscapementError('E_USAGE', `${name} ${given}: must be a size such as 64MiB`);
};

const portOf: ReadOne<number | null> = (given, name) => {
  if (given === 'off') return null;
  const port = wholeNumber(given, name, 0);
  if (port <= 65_535) return port;
  throw new EscapementError('E_USAGE', `${name} ${given}: must be a port, at most 65535`);
};

function oneOf<C extends string>(choices: readonly C[]): ReadOne<C> {
  return (given, name) => {
    const chosen = choices.find((one) => one === given);
    if (chosen !== undefined) return chosen;
    const meant = nearest(given, choices);
    const hint = meant === undefined ? '' : `; did you mean "${meant}"?`;
    throw new EscapementError('E_USAGE', `${name} ${given}: must be one of ${choices.join(', ')}${hint}`);
  };
}
