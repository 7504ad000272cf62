import { readFileSync } from 'node:fs';
import type { InferredOptionTypes, Options } from 'yargs';
import { EscapementError } from '../base/errors.js';
import { fileProblem } from '../base/files/disk-files.js';
import { inputPath } from '../base/files/input-path.js';
import { parseBytes, parseDuration, parseRate, parseShare } from '../config/units-text.js';

/** Values of options by name. */
export type ValuesOf<O extends Readonly<Record<string, Options>>> = InferredOptionTypes<O>;

/** Error for a mistake in a command line. */
export function usageError(what: string): EscapementError {
  return new EscapementError('E_USAGE', what);
}

/** Options under a heading of the help; errors about their values name them. */
export function group<O extends Readonly<Record<string, Options>>>(heading: string, options: O): O {
  const grouped = Object.entries(options).map(([name, { coerce, ...option }]) => {
    const named =
      coerce === undefined ? {} : { coerce: (given: unknown) => naming(`--${name}`, given, coerce) };
    return [name, { ...option, ...named, group: `${heading}:` }] as const;
  });
  return Object.fromEntries(grouped) as unknown as O;
}

type Read<T> = (given: string) => T;

export const nsOf = quantityOf(parseDuration, 0, 'must be a duration such as 30s or 2ms');
const bytesOf = quantityOf(parseBytes, 1, 'must be a size such as 64MiB');
const rateOf = quantityOf(parseRate, Number.MIN_VALUE, 'must be a rate above 0 such as 100/s');

/** A text as given. */
export const text = optional((given) => given);
export const textOr = withDefault((given) => given);

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
export const file = optional((path, flag) => new GivenFile(path, flag));

/** An address to listen on; IPv6 may be in brackets, as in a URL. */
export const addressOr = withDefault((given) => given.replace(/^\[([0-9a-fA-F:.]+)\]$/, '$1'));

/** A metrics port as `http://HOST:PORT`; `http://` may be left out. */
export const metricsUrl = optional(metricsUrlOf);
export const metricsUrlOr = withDefault(metricsUrlOf);
export const METRICS_URL = 'http://127.0.0.1:8002';

/** A whole number of at least `min`. */
export const whole = (min: number, describe: string, defaultDescription?: string) =>
  optional(wholeOf(min))(describe, defaultDescription);
export const wholeOr = (min: number, byDefault: number, describe: string) =>
  withDefault(wholeOf(min))(String(byDefault), describe);
/** Null for `off`. */
export const wholeOrOff = (min: number, byDefault: number, describe: string) =>
  withDefault(orOff(wholeOf(min)))(String(byDefault), describe);

/** A duration in ns. */
export const duration = optional(nsOf);
export const durationOr = withDefault(nsOf);
/** A duration above 0, or null for `off`. */
export const durationOrOff = withDefault(orOff(longNsOf));

/** A size in bytes, at least one. */
export const size = optional(bytesOf);
export const sizeOr = withDefault(bytesOf);
/** A size in bytes, or null for `off`. */
export const sizeOrOff = withDefault(orOff(bytesOf));

const shareOf = quantityOf(parseShare, 0, 'must be a share such as 5%');
/** A share such as `5%`. */
export const share = optional(shareOf);
export const shareOr = withDefault(shareOf);

/** A number of at least 1. */
export const ratio = optional(quantityOf(Number, 1, 'must be a number of at least 1'));

/** Requests per second. */
export const rateOr = withDefault(rateOf);

/** A port, or null for `off`. */
export const portOr = withDefault(orOff(portOf));

/** One of a few words. */
export function choice<const C extends string>(choices: readonly C[], describe: string) {
  return { ...optional((given) => given as C)(describe), choices };
}

/** One of a few words, or a default. */
export function choiceOr<const C extends string>(
  choices: readonly C[],
  byDefault: NoInfer<C>,
  describe: string,
) {
  return { ...choice(choices, describe), default: byDefault };
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

/** An optional option parsed by a function, whose errors need not name it; the help explains its absence. */
export function optional<T>(read: (given: string, flag: string) => T) {
  // yargs makes a list of a repeated option, which is a mistake here.
  const coerce = (given: string, flag = ''): T => {
    if (Array.isArray(given)) throw new Error(`was given more than once (${given.join(', ')})`);
    if (given === '') throw new Error('needs a value');
    return read(given, flag);
  };
  return (describe: string, defaultDescription?: string) =>
    ({ type: 'string', requiresArg: true, describe, defaultDescription, coerce }) as const;
}

/** An option with a default, read by a function. */
export function withDefault<T>(read: Read<T>) {
  return (byDefault: string, describe: string) => ({ ...optional(read)(describe), default: byDefault });
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

function wholeOf(min: number): Read<number> {
  return (given) => {
    const value = /^\d+$/.test(given.trim()) ? Number(given) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= min) return value;
    const most = Number.MAX_SAFE_INTEGER;
    throw new Error(value > most ? `must be at most ${most}` : `must be a whole number, at least ${min}`);
  };
}

function quantityOf(parse: Read<number>, least: number, must: string): Read<number> {
  return (given) => {
    try {
      const value = parse(given);
      if (value >= least) return value;
    } catch {
      // Reported below, like a value that is too small.
    }
    throw new Error(must);
  };
}

function orOff<T>(read: Read<T>): Read<T | null> {
  return (given) => (given === 'off' ? null : read(given));
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
