import * as z from 'zod';
import { EscapementError } from '../base/errors.js';
import {
  formatDuration,
  parseBandwidth,
  parseBytes,
  parseCount,
  parseDuration,
  parsePrice,
  parseRate,
  parseShare,
  show,
} from './units-text.js';

/** Building blocks of the schemas: each field reads the text of a quantity and has a description. */

/** Marks a key that excludes another one of its section, in whose place it may be given. */
export const INSTEAD_OF = 'x-instead-of';

/** A section of known keys. */
export function section<Shape extends z.ZodRawShape>(shape: Shape) {
  const rivals = Object.keys(shape).flatMap((key) => rivalsOf(shape, key).map((other) => [key, other]));
  const fields = z.strictObject(shape);
  if (rivals.length === 0) return fields;
  return fields.superRefine((given, context) => {
    for (const [key, other] of rivals)
      if (key! in given && other! in given && insteadOf(shape[key!]) === other)
        context.addIssue({ code: 'custom', path: [key!], message: `give ${other} or ${key}, not both` });
  });
}

/** Keys of a section that exclude `key`. */
export function rivalsOf(shape: z.ZodRawShape, key: string): string[] {
  return Object.keys(shape).filter(
    (other) => insteadOf(shape[key]) === other || insteadOf(shape[other]) === key,
  );
}

function insteadOf(field: unknown): unknown {
  return (field as z.ZodType | undefined)?.meta()?.[INSTEAD_OF];
}

/** A whole number from `min` to `max`. */
export function whole(about: string, min: number, max?: number) {
  const least = z.int().min(min);
  return (max === undefined ? least : least.max(max)).describe(about);
}

/** A non-empty text. */
export function text(about: string) {
  return z.string().min(1).describe(about);
}

/** One of a few words. */
export function choice<const Words extends readonly string[]>(about: string, words: Words) {
  return z.enum(words).describe(about);
}

export function flag(about: string) {
  return z.boolean().describe(about);
}

/** Integer ns from a text such as `10ms`; `minNs` 1 refuses 0. */
export function duration(about: string, minNs = 0) {
  return textField(TEXT_OR_NUMBER, about, (value) => readDuration(value, minNs));
}

/** Integer ns from a text such as `10ms`, or the word `auto`. */
export function durationOrAuto(about: string, minNs = 0) {
  return textField(TEXT_OR_NUMBER, about, (value) => (value === 'auto' ? value : readDuration(value, minNs)));
}

function readDuration(value: unknown, minNs: number): number {
  const ns = parseDuration(value);
  if (ns >= minNs) return ns;
  return refuse(
    minNs === 1
      ? `must be longer than 0, found ${show(value)}`
      : `must be at least ${formatDuration(minNs)}, found ${show(value)}`,
  );
}

/** Faster arrivals would exceed the resolution of the clock, a nanosecond, and any memory. */
const MAX_RPS = 1e7;

/** Requests per second from a text such as `600/s`; 0 is refused unless `allowZero`. */
export function rate(about: string, allowZero = false) {
  return textField(
    TEXT_OR_NUMBER,
    about,
    atMost(MAX_RPS, '10M/s', allowZero ? parseRate : positive(parseRate)),
  );
}

/** Bytes from a text such as `16MiB`; 0 is refused. */
export function bytes(about: string) {
  return textField(TEXT_OR_NUMBER, about, positive(parseBytes));
}

/** Bytes per second from a text such as `12.2GB/s` or `unlimited`; 0 is refused. */
export function bandwidth(about: string) {
  return textField(TEXT_OR_NUMBER, about, positive(parseBandwidth));
}

/** Price per hour from a text such as `2.48/h`. */
export function price(about: string) {
  return textField(TEXT_OR_NUMBER, about, parsePrice);
}

/** A number up to `max`, plain or with a suffix such as `25.6M`; 0 is refused. */
export function count(about: string, max = Number.MAX_SAFE_INTEGER) {
  return textField(TEXT_OR_NUMBER, about, atMost(max, String(max), positive(parseCount)));
}

/** A number such as 0.5 or 2 that only counts relative to others. */
export function relative(about: string, least: number, max: number) {
  return textField(
    TEXT_OR_NUMBER,
    about,
    atMost(max, String(max), (value) => {
      if (typeof value === 'string' && value.trim().endsWith('%'))
        refuse(
          `must be a number relative to those of the others, e.g. 2, and no percentage: found ${show(value)}`,
        );
      const number = parseCount(value);
      return number >= least ? number : refuse(`must be at least ${least}, found ${show(value)}`);
    }),
  );
}

/** A share such as `5%` or 0.05. */
export function share(about: string, max = Number.POSITIVE_INFINITY) {
  return textField(TEXT_OR_NUMBER, about, (value) => {
    const part = parseShare(value);
    if (part > max) refuse(`must be at most ${max * 100}%, found ${show(value)}`);
    return part;
  });
}

/** A text or a non-empty list of texts; numbers and the like are taken as written. */
export const textOrTexts = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]);

/** One section, or a non-empty list of them; `id` names the section in the JSON Schema. */
export function oneOrMany<T extends z.ZodType>(id: string, item: T, about: string) {
  const list = z.preprocess(
    (value) => (Array.isArray(value) || value === undefined ? value : [value]),
    z.array(item.meta({ id })).min(1),
  );
  return list.meta({ description: about, [ONE_OR_MANY]: true });
}

/** Marks `oneOrMany` for the JSON Schema, where a single section is allowed too. */
export const ONE_OR_MANY = 'x-one-or-many';

/** Default, for the JSON Schema, of a key whose absence the program must see. */
export const DERIVED_DEFAULT = 'x-default';

/** JSON Schema of a scalar that may be written with a unit. */
export const TEXT_OR_NUMBER = { type: ['string', 'number'] };

/** A value that `read` converts for the program; it throws an EscapementError to reject it. */
export function textField<T, V = unknown>(
  jsonSchema: Readonly<Record<string, unknown>>,
  about: string,
  read: (value: V) => T,
  written: z.ZodType<V> = z.unknown() as z.ZodType<V>,
) {
  return written
    .transform((value, context): T => {
      try {
        if (value === undefined) refuse(MISSING);
        if (value === null) refuse(EMPTY);
        return read(value);
      } catch (error) {
        if (!(error instanceof EscapementError)) throw error;
        context.addIssue({ code: 'custom', message: error.what, params: { errorCode: error.code } });
        return z.NEVER;
      }
    })
    .meta({ ...jsonSchema, description: about });
}

export function refuse(what: string): never {
  throw new EscapementError('E_CONFIG_VALUE', what);
}

export const MISSING = 'is missing, and has no default';
export const EMPTY = 'has no value';

function positive(read: (value: unknown) => number): (value: unknown) => number {
  return (value) => {
    const number = read(value);
    return number > 0 ? number : refuse(`must be above 0, found ${show(value)}`);
  };
}

function atMost(max: number, text: string, read: (value: unknown) => number): (value: unknown) => number {
  return (value) => {
    const number = read(value);
    return number <= max ? number : refuse(`must be at most ${text}, found ${show(value)}`);
  };
}
