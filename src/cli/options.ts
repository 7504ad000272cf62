import type { Argv, InferredOptionTypes, Options } from 'yargs';
import { EscapementError } from '../base/errors.js';
import { parseBytes, parseDuration } from '../config/units-text.js';

/** Values of options by name. */
export type ValuesOf<O extends Readonly<Record<string, Options>>> = InferredOptionTypes<O>;

/** Arguments and options of the command that a builder describes. */
export type ArgsOf<B extends (yargs: Argv) => Argv<unknown>> =
  ReturnType<B> extends Argv<infer Args> ? Args : never;

/** Options under a heading of the help. Errors of their values name them. */
export function group<O extends Readonly<Record<string, Options>>>(heading: string, options: O): O {
  const grouped = Object.entries(options).map(([name, { coerce, ...option }]) => {
    const named =
      coerce === undefined ? {} : { coerce: (given: unknown) => naming(`--${name}`, given, coerce) };
    return [name, { ...option, ...named, group: `${heading}:` }] as const;
  });
  return Object.fromEntries(grouped) as unknown as O;
}

/** The value as it was given. */
export function text(describe: string, defaultDescription?: string) {
  return {
    ...valued(describe, asGiven),
    ...(defaultDescription === undefined ? {} : { defaultDescription }),
  };
}

/** The value as it was given, or a default. */
export function textOr(byDefault: string, describe: string) {
  return { ...valued(describe, asGiven), default: byDefault };
}

/** An address to listen on, or a default. IPv6 may stand in brackets, as in a URL. */
export function addressOr(byDefault: string, describe: string) {
  const read: Read<string> = (given) => given.replace(/^\[([0-9a-fA-F:.]+)\]$/, '$1');
  return withDefault(byDefault, valued(describe, read));
}

/** A whole number of at least `min`. */
export function whole(min: number, describe: string, defaultDescription?: string) {
  return {
    ...valued(describe, wholeOf(min)),
    ...(defaultDescription === undefined ? {} : { defaultDescription }),
  };
}

/** A whole number of at least `min`, or a default. */
export function wholeOr(min: number, byDefault: number, describe: string) {
  return withDefault(String(byDefault), valued(describe, wholeOf(min)));
}

/** A whole number of at least `min`, or null for `off`. */
export function wholeOrOff(min: number, byDefault: number, describe: string) {
  return withDefault(String(byDefault), valued(describe, orOff(wholeOf(min))));
}

/** A duration in ns. */
export function duration(describe: string, defaultDescription: string) {
  return { ...valued(describe, nsOf), defaultDescription };
}

/** A duration in ns, or a default. */
export function durationOr(byDefault: string, describe: string) {
  return withDefault(byDefault, valued(describe, nsOf));
}

/** A duration in ns longer than 0, or null for `off`. */
export function durationOrOff(byDefault: string, describe: string) {
  return withDefault(byDefault, valued(describe, orOff(longNsOf)));
}

/** A size in bytes, at least one. */
export function size(describe: string, defaultDescription?: string) {
  return {
    ...valued(describe, bytesOf),
    ...(defaultDescription === undefined ? {} : { defaultDescription }),
  };
}

/** A size in bytes, at least one, or a default. */
export function sizeOr(byDefault: string, describe: string) {
  return withDefault(byDefault, valued(describe, bytesOf));
}

/** A size in bytes, at least one, or null for `off`. */
export function sizeOrOff(byDefault: string, describe: string) {
  return withDefault(byDefault, valued(describe, orOff(bytesOf)));
}

/** A port, or null for `off`. */
export function portOr(byDefault: string, describe: string) {
  return withDefault(byDefault, valued(describe, orOff(portOf)));
}

/** One of a few words. */
export function choice<const C extends string>(choices: readonly C[], describe: string) {
  return { ...valued(describe, (given) => given as C), choices };
}

/** One of a few words, or a default. */
export function choiceOr<const C extends string>(
  choices: readonly C[],
  byDefault: NoInfer<C>,
  describe: string,
) {
  return { ...choice(choices, describe), default: byDefault };
}

/** An option that may be given many times. */
export function list(describe: string) {
  return {
    type: 'string',
    array: true,
    nargs: 1,
    default: [] as readonly string[],
    defaultDescription: 'none',
    describe,
  } as const;
}

/** An option without a value. */
export function toggle(describe: string) {
  return { type: 'boolean', default: false, describe } as const;
}

/** An option or argument that has to be given. */
export function required<O extends Options>(option: O) {
  return { ...option, demandOption: true } as const;
}

/** A whole number of at least `min`. Throws `E_USAGE`. */
export function wholeNumber(given: string, name: string, min: number): number {
  return naming(name, given, wholeOf(min));
}

type Read<T> = (given: string) => T;

/** yargs makes a list of what is given more than once, which is a mistake rather than a choice. */
function valued<T>(describe: string, read: Read<T>) {
  const coerce = (given: string): T => {
    if (Array.isArray(given)) throw new Error(`was given more than once (${given.join(', ')})`);
    if (given === '') throw new Error('needs a value');
    return read(given);
  };
  return { type: 'string', requiresArg: true, describe, coerce } as const;
}

function withDefault<O extends object>(byDefault: string, option: O) {
  return { ...option, default: byDefault };
}

function naming<T>(name: string, given: unknown, read: (given: never) => T): T {
  try {
    return read(given as never);
  } catch (error) {
    const value = typeof given === 'string' && given !== '' ? ` ${given}:` : '';
    throw new EscapementError('E_USAGE', `${name}${value} ${(error as Error).message}`);
  }
}

const asGiven: Read<string> = (given) => given;

function wholeOf(min: number): Read<number> {
  return (given) => {
    const value = /^\d+$/.test(given.trim()) ? Number(given) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= min) return value;
    throw new Error(`must be a whole number, at least ${min}`);
  };
}

function orOff<T>(read: Read<T>): Read<T | null> {
  return (given) => (given === 'off' ? null : read(given));
}

const nsOf: Read<number> = (given) => {
  try {
    return parseDuration(given);
  } catch {
    throw new Error('must be a duration such as 30s or 2ms');
  }
};

const longNsOf: Read<number> = (given) => {
  const ns = nsOf(given);
  if (ns > 0) return ns;
  throw new Error('must be longer than 0, or off');
};

const bytesOf: Read<number> = (given) => {
  try {
    const bytes = parseBytes(given);
    if (bytes >= 1) return bytes;
  } catch {
    // Reported below, as a size of 0 is.
  }
  throw new Error('must be a size such as 64MiB');
};

const portOf: Read<number> = (given) => {
  const port = wholeOf(0)(given);
  if (port <= 65_535) return port;
  throw new Error('must be a port, at most 65535');
};
