import { readFileSync } from 'node:fs';
import type { InferredOptionTypes, Options } from 'yargs';
import { EscapementError, usageError } from '../base/errors.js';
import { fileProblem } from '../base/files/disk-files.js';
import { inputPath } from '../base/files/input-path.js';
import { parseBytes, parseDuration, parseRate, parseShare } from '../config/units-text.js';

export { usageError };

/** Values of options by name. */
export type ValuesOf<O extends Readonly<Record<string, Options>>> = InferredOptionTypes<O>;

/** Options under a heading of the help; errors about their values name them. */
export function group<O extends Readonly<Record<string, Options>>>(heading: string, options: O): O {
  const grouped = Object.entries(options).map(([name, { coerce, ...option }]) => {
    const named =
      coerce === undefined ? {} : { coerce: (given: unknown) => naming(`--${name}`, given, coerce) };
    return [name, { ...option, ...named, group: `${heading}:` }] as const;
  });
  return Object.fromEntries(grouped) as unknown as O;
}

type Read<T> = (given: string, flag: string) => T;

/**
 * A kind of option, from the function that reads its text; errors of that need not name the option. Without a default,
 * the help explains its absence; `or` takes a default, and `orOff` also the text `off`, which means null.
 */
export function option<T>(read: Read<T>, extra: Pick<Options, 'choices'> = {}) {
  // yargs makes a list of a repeated option, which is a mistake here.
  const coerce = (given: string, flag = ''): T => {
    if (Array.isArray(given)) throw new Error(`was given more than once (${given.join(', ')})`);
    if (given === '') throw new Error('needs a value');
    return read(given, flag);
  };
  const optional = (describe: string, defaultDescription?: string) =>
    ({ type: 'string', requiresArg: true, describe, defaultDescription, coerce, ...extra }) as const;
  const or = (byDefault: string | number, describe: string) => {
    return { ...optional(describe), default: String(byDefault) };
  };
  const orOff = (byDefault: string | number, describe: string) => {
    return option((given, flag) => (given === 'off' ? null : read(given, flag))).or(byDefault, describe);
  };
  return Object.assign(optional, { or, orOff });
}

export const nsOf = quantityOf(parseDuration, 0, 'must be a duration such as 30s or 2ms');

/** A text as given. */
export const text = option((given) => given);

/** A file named by an option, read once, when it is used. */
export class GivenFile {
  private content: Buffer | undefined;

  constructor(
    readonly path: string,
    private readonly flag: string,
  ) {}

  /** Throws `E_FILE_MISSING`. */
  get bytes(): Buffer {
    try {
      this.content ??= readFileSync(inputPath(this.path));
      return this.content;
    } catch (error) {
      throw fileProblem(error, this.path, { flag: this.flag });
    }
  }

  /** Its text without surrounding white space. Throws `E_USAGE` if there is none; no error quotes it. */
  get secret(): string {
    return this.bytes.toString('utf8').trim() || this.refuse('the file is empty');
  }

  /** A secret of characters that every header and every gRPC metadata value can carry. Throws `E_USAGE`. */
  get token(): string {
    const { secret } = this;
    return /^[\x20-\x7e]+$/.test(secret)
      ? secret
      : this.refuse('the token must be one line of printable ASCII');
  }

  private refuse(what: string): never {
    throw usageError(`${this.flag} ${this.path}: ${what}`);
  }
}
export const file = option((path, flag) => new GivenFile(path, flag));

/** An address to listen on; IPv6 may be in brackets, as in a URL. */
export const address = option((given) => given.replace(/^\[([0-9a-fA-F:.]+)\]$/, '$1'));

/** A metrics port as `http://HOST:PORT`; `http://` may be left out. */
export const metricsUrl = option(metricsUrlOf);
export const METRICS_URL = 'http://127.0.0.1:8002';

/** A whole number of at least `min`. */
export const whole = (min: number) => option(wholeOf(min));

/** A duration in ns; one above 0. */
export const duration = option(nsOf);
export const positiveDuration = option(longNsOf);

/** A size in bytes, at least one. */
export const size = option(quantityOf(parseBytes, 1, 'must be a size such as 64MiB'));

/** A share such as `5%`. */
export const share = option(quantityOf(parseShare, 0, 'must be a share such as 5%'));

/** A number of at least 1. */
export const ratio = option(quantityOf(Number, 1, 'must be a number of at least 1'));

/** Requests per second. */
export const rate = option(quantityOf(parseRate, Number.MIN_VALUE, 'must be a rate above 0 such as 100/s'));

export const port = option(portOf);

/** One of a few words. */
export function choice<const C extends string>(choices: readonly C[]) {
  return option((given) => given as C, { choices });
}

/** An option that may be repeated; empty by `fillIn`. */
export function list(describe: string) {
  const option = { type: 'string', array: true, nargs: 1, defaultDescription: 'none', describe } as const;
  return option as typeof option & { readonly default: readonly string[] };
}

/** An option without a value; false by `fillIn`. */
export function toggle(describe: string) {
  return { type: 'boolean', describe } as { type: 'boolean'; describe: string; default: boolean };
}

/**
 * Gives lists and toggles their defaults. Runs after the checks, because `conflicts` and `implies` would count defaults
 * as given.
 */
export function fillIn(args: Record<string, unknown>, yargs?: object): void {
  const { array, boolean } = (yargs as { getOptions(): Record<'array' | 'boolean', string[]> }).getOptions();
  for (const name of array) args[name] ??= [];
  for (const name of boolean) args[name] ??= false;
}

/** A required option or argument. */
export function required<O extends Options>(option: O) {
  return { ...option, demandOption: true } as const;
}

/** A whole number of at least `min`. Throws `E_USAGE`. */
export function wholeNumber(given: string, name: string, min: number): number {
  return naming(name, given, wholeOf(min));
}

function naming<T>(name: string, given: unknown, read: (given: never, flag: string) => T): T {
  try {
    return read(given as never, name);
  } catch (error) {
    // Errors that name their option already pass through.
    if (error instanceof EscapementError) throw error;
    const value = typeof given === 'string' && given !== '' ? ` ${given}:` : '';
    throw usageError(`${name}${value} ${(error as Error).message}`);
  }
}

function wholeOf(min: number): (given: string) => number {
  return (given) => {
    const value = /^\d+$/.test(given.trim()) ? Number(given) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= min) return value;
    const most = Number.MAX_SAFE_INTEGER;
    throw new Error(value > most ? `must be at most ${most}` : `must be a whole number, at least ${min}`);
  };
}

function quantityOf(parse: (given: string) => number, least: number, must: string) {
  return (given: string): number => {
    try {
      const value = parse(given);
      if (value >= least) return value;
    } catch {
      // Reported below, like a value that is too small.
    }
    throw new Error(must);
  };
}

function longNsOf(given: string): number {
  const ns = nsOf(given);
  if (ns > 0) return ns;
  throw new Error('must be longer than 0, or off');
}

function portOf(given: string): number {
  const port = wholeOf(0)(given);
  if (port <= 65_535) return port;
  throw new Error('must be a port, at most 65535');
}

function metricsUrlOf(given: string): string {
  const whole = /^[a-z]+:\/\//i.test(given) ? given : `http://${given}`;
  // A bare port would parse as an address.
  const isNumber = /^\d+$/.test(given);
  if (!isNumber && URL.canParse(whole) && /^https?:/i.test(whole)) return new URL(whole).origin;
  throw usageError(`${given}: must be a URL such as ${METRICS_URL}`);
}
