import { type ErrorCode, EscapementError } from '../base/errors.js';
import { GIB, KIB, MIB, TIMES } from '../base/units.js';

/**
 * Converts quantities as people write them (`10ms`, `600/s`, `16MiB`) to canonical units and back. Every reader takes
 * the value of a YAML scalar or the text of a flag, and throws `E_CONFIG_UNIT` for a missing or unknown unit and
 * `E_CONFIG_VALUE` for a missing or negative number; the caller adds file, line and key.
 */

const MULTIPLES = { '': 1, k: 1e3, M: 1e6, G: 1e9 };
const BINARY = { KiB: KIB, MiB: MIB, GiB: GIB, TiB: 1024 * GIB };
const SIZES = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, ...BINARY };

const readDuration = reader('duration', '10ms', TIMES);
const readSize = reader('size', '16MiB', SIZES);
const readBandwidth = reader('bandwidth', '12.2GB/s, or unlimited', per({ s: 1 }, SIZES));

/** `600/s`, `36k/m`, `12/h` to requests per second. */
export const parseRate = reader('rate', '600/s', per({ s: 1, m: 60, h: 3600 }, MULTIPLES));

/** `2.48/h` or `0.0007/s` to a price per hour. */
export const parsePrice = reader('price', '2.48/h', { '/s': 3600, '/m': 60, '/h': 1, '/d': [1, 24] });

/** `25.6M`, `4k` or a plain number. */
export const parseCount = reader('count', '25.6M', MULTIPLES);

/** `5%` or `0.05` to 0.05. */
export const parseShare = reader('share', '5%', { '%': [1, 100], '': 1 });

/** `10ms`, `250us`, `1.5s`, `2m`, `1h`, `100ns` to integer ns. Only 0 may be bare. */
export function parseDuration(value: unknown): number {
  const ns = readDuration(value);
  const rounded = Math.round(ns);
  if (rounded === 0 && ns > 0) throw problem('E_CONFIG_VALUE', `${show(value)} is shorter than 1ns`);
  if (!Number.isSafeInteger(rounded))
    throw problem('E_CONFIG_VALUE', `${show(value)} is longer than 104 days`);
  return rounded;
}

/** `16MiB`, `12.2GB`, `4kB` to bytes. */
export function parseBytes(value: unknown): number {
  return Math.round(readSize(value));
}

/** `12.2GB/s` to bytes per second; `unlimited` is Infinity. */
export function parseBandwidth(value: unknown): number {
  return value === 'unlimited' ? Number.POSITIVE_INFINITY : readBandwidth(value);
}

/** The shortest exact text of a duration: `10ms`, `1.5s`, `90s`, `2m`. */
export function formatDuration(ns: number): string {
  const { m, h, ...small } = TIMES;
  const whole = Object.entries({ h, m }).find(([, size]) => ns !== 0 && ns % size === 0);
  if (whole !== undefined) return `${ns / whole[1]}${whole[0]}`;
  return ns === 0 ? '0s' : formatIn(small, ns, 9);
}

/** Text of a size in binary units, exact if it is a whole number of them: `16MiB`, `97.43MiB`. */
export function formatBytes(bytes: number): string {
  return formatIn({ B: 1, KiB: KIB, MiB: MIB, GiB: GIB }, bytes, 2);
}

/** Text of a count with a decimal suffix: `25.6M`. */
export function formatCount(count: number): string {
  return formatIn(MULTIPLES, count, 2);
}

/** A number in the largest of these units, which ascend, that is not larger than it. */
function formatIn(units: Readonly<Record<string, number>>, value: number, decimals: number): string {
  const ascending = Object.entries(units);
  const [unit, factor] = ascending.findLast(([, size]) => value >= size) ?? ascending[0]!;
  return `${Number((value / factor).toFixed(decimals))}${unit}`;
}

/**
 * Values of a list or range, as texts: `10ms,25ms` gives both, `1ms:20ms:1ms` gives 1ms, 2ms, … 20ms (start:end:step,
 * end included, to twelve digits), `clockwork,fifo` both names.
 */
export function expandValues(text: string): string[] {
  const values = text.split(',').flatMap((part) => expandPart(part.trim(), text));
  if (values.length > MAX_VALUES)
    throw problem('E_CONFIG_VALUE', `${text} has more than ${MAX_VALUES} values`);
  return values;
}

/** A value as it appears in messages. */
export function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  // JSON cannot represent some numbers.
  return typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value);
}

const MAX_VALUES = 10_000;

/** Factors of units to the canonical one; as a fraction where that keeps them exact: 36k/m is 600/s. */
type Units = Readonly<Record<string, number | readonly [number, number]>>;

/** Every unit of an amount per unit of time. */
function per(times: Readonly<Record<string, number>>, amounts: Readonly<Record<string, number>>): Units {
  return Object.fromEntries(
    Object.entries(amounts).flatMap(([unit, factor]) =>
      Object.entries(times).map(([time, size]) => [`${unit}/${time}`, [factor, size] as const]),
    ),
  );
}

function reader(noun: string, example: string, units: Units): (value: unknown) => number {
  const known = Object.keys(units).filter((unit) => unit !== '');
  return (value) => {
    if (value === 0 || value === '0') return 0;
    const text = typeof value === 'number' || typeof value === 'string' ? String(value).trim() : '';
    const [, digits, unit] = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*)$/.exec(text) ?? [];
    if (typeof value === 'number' && !Number.isFinite(value))
      throw problem('E_CONFIG_VALUE', `must be a finite number, found ${value}`);
    if (digits === undefined || unit === undefined)
      throw problem('E_CONFIG_VALUE', `must be a ${noun} such as ${example}, found ${show(value)}`);
    if (!Object.hasOwn(units, unit)) {
      const wrong = unit === '' ? 'has no unit' : `has the unknown unit ${unit}`;
      const what = `${show(value)} ${wrong}: write a ${noun} such as ${example} (units: ${known.join(', ')})`;
      throw problem('E_CONFIG_UNIT', what);
    }
    const [factor, divisor] = [units[unit]!, 1].flat() as [number, number];
    const number = (Number(digits) * factor) / divisor;
    if (!Number.isFinite(number)) throw problem('E_CONFIG_VALUE', `is too large: ${show(value)}`);
    if (number < 0) throw problem('E_CONFIG_VALUE', `must not be negative, found ${show(value)}`);
    return number;
  };
}

function expandPart(part: string, whole: string): string[] {
  const fail = (what: string) => problem('E_CONFIG_VALUE', `${part} ${what}`);
  if (part === '')
    throw problem('E_CONFIG_VALUE', `${show(whole)} has an empty value: write a list such as 10ms,25ms`);
  const texts = part.split(':');
  const ends = texts.map(splitRangeEnd);
  const [first, second] = ends;
  // Minutes such as 600:660 have no unit.
  const hasUnits = second !== undefined && (first?.unit || second?.unit);
  if (texts.length === 2 && first != null && (texts[1]!.trim() === '' || (second != null && hasUnits)))
    throw fail('has no step: write start:end:step, e.g. 10ms:50ms:10ms, or a list, e.g. 10ms,50ms');
  // Minutes and names have no third part: they are kept as they are.
  if (texts.length !== 3 || ends.every((end) => end === null)) return [part];
  const known = ends.filter((end) => end !== null);
  const units = new Set(known.flatMap(({ unit, value }) => (unit === '' && value === 0 ? [] : [unit])));
  if (units.size > 1 && known.length === 3)
    throw problem('E_CONFIG_UNIT', `${part} mixes units: write start, end and step in the same unit`);
  const [unit = ''] = units;
  const [start = 0, end = 0, step = 0] = known.map(({ value }) => value);
  if (known.length < 3 || step <= 0 || end < start)
    throw fail('is not a range: write start:end:step with a step above 0, e.g. 1ms:20ms:1ms');
  const count = Math.floor(exact((end - start) / step)) + 1;
  if (count > MAX_VALUES) throw fail(`has more than ${MAX_VALUES} values`);
  return Array.from({ length: count }, (_, i) => `${exact(start + i * step)}${unit}`);
}

/** Drops the last digits, which only come from the binary form of decimals. */
function exact(value: number): number {
  return Number(value.toPrecision(12));
}

function splitRangeEnd(text: string): { readonly value: number; readonly unit: string } | null {
  const match = /^(\d+(?:\.\d+)?)\s*(\D*)$/.exec(text.trim());
  return match === null ? null : { value: Number(match[1]), unit: match[2]! };
}

function problem(code: ErrorCode, what: string): EscapementError {
  return new EscapementError(code, what);
}
