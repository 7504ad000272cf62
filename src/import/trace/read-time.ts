import type { DateTime } from 'luxon';

type Unit = 's' | 'ms' | 'us' | 'ns';
/** Unit of times that are numbers, or pattern of texts with tokens of Luxon; `auto`: a usual one, recognized. */
export type TimeFormat = 'auto' | Unit | { readonly pattern: string };

const DIGITS: Readonly<Record<Unit, number>> = { s: 9, ms: 6, us: 3, ns: 0 };
/** Names of the units for people. */
export const UNIT_NAMES: Readonly<Record<Unit, string>> = {
  s: 'seconds',
  ms: 'milliseconds',
  us: 'microseconds',
  ns: 'nanoseconds',
};

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9})\d*)?)?)?\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?$/i;
/** Times of access logs, e.g. 12/Oct/2026:08:00:01.250 +0200. */
const LOG = /^(\d\d?)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?: ([+-]\d{4}))?$/;
const NUMBER = /^(\d{1,20})(?:\.(\d*))?$/;
const SCIENTIFIC = /^\d+(?:\.\d+)?e[-+]?\d+$/i;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const NS_PER_MS = 1_000_000n;

/** Reads the times of logs, in each of which numbers have one unit. */
export class TimeReader {
  /** Unit that was taken for granted; null: it is known, or no time was a number. */
  assumed: Unit | null = null;
  /** True if the assumed unit counts from 1970. */
  isSince1970 = false;
  /** Number of times with a time zone, and of dates without one, which are read as UTC. */
  zoned = 0;
  zoneless = 0;
  /** Number of times that are not whole seconds. */
  fractional = 0;
  private unit: Unit | null = null;

  private pattern: Pattern | null = null;

  /** Begins a log with times of this format. */
  async begin(format: TimeFormat): Promise<void> {
    this.unit = typeof format === 'object' || format === 'auto' ? null : format;
    this.pattern = typeof format === 'object' ? await openPattern(format.pattern) : null;
  }

  /** Says what is read as a time, after a text that is not. */
  get hint(): string {
    if (this.pattern !== null) return `, which does not fit --time-format ${this.pattern.text}`;
    return '; times are ISO 8601, 12/Oct/2026:08:00:01 +0200, or numbers (--time-format: their unit, or a pattern of texts); --time names another field';
  }

  /** Nanoseconds since 1970, or since whatever numbers count from; null: not a time. */
  read(text: string): bigint | null {
    const ns =
      this.pattern === null ? (this.number(text) ?? this.date(text)) : this.patterned(text, this.pattern);
    if (ns !== null && ns % 1_000_000_000n !== 0n) this.fractional++;
    return ns;
  }

  private patterned(text: string, { hasZone, read }: Pattern): bigint | null {
    const time = read(text);
    if (!time.isValid) return null;
    this.sawDate(hasZone);
    return BigInt(time.toMillis()) * NS_PER_MS;
  }

  private sawDate(hasZone: boolean): void {
    if (hasZone) this.zoned++;
    else this.zoneless++;
  }

  private number(text: string): bigint | null {
    const plain = SCIENTIFIC.test(text) ? Number(text).toFixed(9) : text;
    const [, whole, fraction = ''] = NUMBER.exec(plain) ?? [];
    if (whole === undefined) return null;
    if (this.unit === null) {
      const since = UNITS.find((unit) => isSince1970(Number(whole), unit));
      this.isSince1970 = since !== undefined;
      this.assumed = since ?? 's';
      this.unit = this.assumed;
    }
    const digits = DIGITS[this.unit];
    return BigInt(whole + fraction.slice(0, digits).padEnd(digits, '0'));
  }

  private date(text: string): bigint | null {
    const iso = ISO.exec(text);
    const log = iso === null ? LOG.exec(text) : null;
    const [year, month, day, hour, minute, second, fraction, zone] =
      iso?.slice(1) ??
      (log === null ? [] : [log[3], String(MONTHS.indexOf(log[2]!) + 1), log[1], ...log.slice(4)]);
    const ms = epochMs([year, month, day, hour, minute, second]);
    if (year === undefined || ms === null) return null;
    this.sawDate(zone !== undefined);
    return (BigInt(ms) - BigInt(offsetMs(zone))) * NS_PER_MS + BigInt((fraction ?? '').padEnd(9, '0'));
  }
}

/** Pattern of the times of a log. */
interface Pattern {
  readonly text: string;
  readonly hasZone: boolean;
  readonly read: (time: string) => DateTime;
}

async function openPattern(text: string): Promise<Pattern> {
  const { DateTime } = await import('luxon');
  const parser = DateTime.buildFormatParser(text, { locale: 'en-US' });
  const read = (time: string) => DateTime.fromFormatParser(time, parser, { locale: 'en-US', zone: 'utc' });
  return { text, hasZone: /z/i.test(tokensOf(text)), read };
}

/** A pattern without the text that it quotes. */
function tokensOf(pattern: string): string {
  return pattern.replace(/'[^']*'/g, '');
}

/** A format as people write it. Throws if it does not say which day it is. */
export function timeFormatOf(given: string): TimeFormat {
  const known = ['auto', ...UNITS].find((format) => format === given) as 'auto' | Unit | undefined;
  if (known !== undefined) return known;
  if ([/y/, /[ML]/, /d/].every((token) => token.test(tokensOf(given)))) return { pattern: given };
  throw new Error(
    `must be ${UNITS.join(', ')}, or a pattern with year, month and day, such as MM/dd/yyyy HH:mm:ss`,
  );
}

const UNITS = ['s', 'ms', 'us', 'ns'] as const;

/** True between 2001 and 2100. */
function isSince1970(value: number, unit: Unit): boolean {
  const seconds = value / 10 ** (9 - DIGITS[unit]);
  return seconds >= 1e9 && seconds < 4.1e9;
}

type Six = [number, number, number, number, number, number];

/** Null for a day or time that does not exist; leap seconds do. */
function epochMs(parts: readonly (string | undefined)[]): number | null {
  const [year, month, day, hour, minute, second] = parts.map((text) => Number(text ?? 0)) as Six;
  const ms = Date.UTC(year, month - 1, day, hour, minute, second);
  const isDay = month >= 1 && day >= 1 && Date.UTC(year, month - 1, day) < Date.UTC(year, month, 1);
  return isDay && month <= 12 && hour <= 23 && minute <= 59 && second <= 60 ? ms : null;
}

function offsetMs(zone: string | undefined): number {
  const [, sign, hours = '0', minutes = '0'] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone ?? '') ?? [];
  const ms = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return sign === '-' ? -ms : ms;
}
