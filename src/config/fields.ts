import * as z from 'zod';
import { type ErrorPlace, EscapementError } from '../base/errors.js';
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

/** A section of known keys. */
export const section = z.strictObject;

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
  return quantity(about, durationFrom(minNs));
}

/** Integer ns from a text such as `10ms`, or the word `auto`. */
export function durationOrAuto(about: string, minNs = 0) {
  return quantity(about, (value) => (value === 'auto' ? value : durationFrom(minNs)(value)));
}

/** Integer ns above 0 from a text such as `2m`; infinite for the word `forever`. */
export function durationOrForever(about: string) {
  return quantity(about, (value) =>
    value === 'forever' ? Number.POSITIVE_INFINITY : durationFrom(1)(value),
  );
}

/** Faster arrivals would exceed the resolution of the clock, a nanosecond, and any memory. */
const MAX_RPS = 1e7;

/** Requests per second from a text such as `600/s`; 0 is refused unless `allowZero`. */
export function rate(about: string, allowZero = false) {
  return quantity(about, atMost(MAX_RPS, '10M/s', allowZero ? parseRate : positive(parseRate)));
}

/** Bytes from a text such as `16MiB`; 0 is refused. */
export const bytes = (about: string) => quantity(about, positive(parseBytes));

/** Bytes per second from a text such as `12.2GB/s` or `unlimited`; 0 is refused. */
export const bandwidth = (about: string) => quantity(about, positive(parseBandwidth));

/** Price per hour from a text such as `2.48/h`. */
export const price = (about: string) => quantity(about, parsePrice);

/** A number above 0, to `max`, plain or with a suffix such as `25.6M`. */
export function count(about: string, max = Number.MAX_SAFE_INTEGER) {
  return quantity(about, atMost(max, String(max), positive(parseCount)));
}

/** A number from 1 / `range` to `range` that only counts relative to those of others. */
export function relative(about: string, range: number) {
  const read = atMost(range, String(range), atLeast(1 / range, String(1 / range), parseCount));
  const must = 'must be a plain number such as 2, relative to those of the others, not a percentage';
  return quantity(about, (value) =>
    String(value).trim().endsWith('%') ? refuse(`${must}: found ${show(value)}`) : read(value),
  );
}

/** A share such as `5%` or 0.05. */
export function share(about: string, max = Number.POSITIVE_INFINITY) {
  return quantity(about, atMost(max, `${max * 100}%`, parseShare));
}

type Read = (value: unknown) => number;

/** A scalar that may be written with a unit. */
function quantity<T>(about: string, read: (value: unknown) => T) {
  return textField(TEXT_OR_NUMBER, about, read);
}

function checked(read: Read, isValid: (number: number) => boolean, must: string): Read {
  return (value) => {
    const number = read(value);
    return isValid(number) ? number : refuse(`must be ${must}, found ${show(value)}`);
  };
}

function durationFrom(minNs: number): Read {
  if (minNs === 1) return checked(parseDuration, (ns) => ns >= 1, 'longer than 0');
  return atLeast(minNs, formatDuration(minNs), parseDuration);
}

function positive(read: Read): Read {
  return checked(read, (number) => number > 0, 'above 0');
}

function atLeast(min: number, text: string, read: Read): Read {
  return checked(read, (number) => number >= min, `at least ${text}`);
}

function atMost(max: number, text: string, read: Read): Read {
  return checked(read, (number) => number <= max, `at most ${text}`);
}

const asText = (value: unknown) =>
  typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;

/** A text or a non-empty list of texts, which may be numbers or booleans. */
export const textOrTexts = z.preprocess(
  (value) => (Array.isArray(value) ? value.map(asText) : asText(value)),
  z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]),
);

/** One section, or a non-empty list of them; `id` names the section in the JSON Schema. */
export function oneOrMany<T extends z.ZodType>(id: string, item: T, about: string) {
  const list = z.preprocess(
    (value) => (Array.isArray(value) || value === undefined ? value : [value]),
    z.array(item.meta({ id })).min(1),
  );
  return list.meta({ description: about, [ONE_OR_MANY]: true });
}

/** Refuses a name that an earlier item of the list has. */
export function refuseTwice(list: readonly { readonly name?: string }[], context: z.RefinementCtx): void {
  const names = list.map(({ name }) => name);
  names.forEach((name, i) => {
    if (name !== undefined && names.indexOf(name) < i)
      context.addIssue({ code: 'custom', path: [i, 'name'], message: `${name} is listed twice` });
  });
}

/** Marks `oneOrMany` for the JSON Schema, where a single section is allowed too. */
export const ONE_OR_MANY = 'x-one-or-many';

/** Default, for the JSON Schema, of a key that the program must know to be absent. */
export const DERIVED_DEFAULT = 'x-default';

/** JSON Schema of a scalar that may be written with a unit. */
const TEXT_OR_NUMBER = { type: ['string', 'number'] };

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

/** Throws `E_CONFIG_VALUE`. */
export function refuse(what: string, place?: ErrorPlace): never {
  throw new EscapementError('E_CONFIG_VALUE', what, place);
}

export const MISSING = 'is missing, and has no default';
export const EMPTY = 'has no value';
