import { type ErrorCode, EscapementError } from '../base/errors.js';
import { GIB, KIB, MIB, NS_PER_HOUR, NS_PER_MINUTE, NS_PER_MS, NS_PER_S, NS_PER_US } from '../base/units.js';

/**
 * Converts quantities as people write them (`10ms`, `600/s`, `16MiB`) to canonical units and back. Every reader takes
 * the value of a YAML scalar or the text of a flag, and throws `E_CONFIG_UNIT` for a missing or unknown unit and
 * `E_CONFIG_VALUE` for a missing or negative number; the caller adds file, line and key.
 */

/** `10ms`, `250us`, `1.5s`, `2m`, `1h`, `100ns` to integer ns. Only 0 may be bare. */
export function parseDuration(value: unknown): number {
  const ns = readQuantity(DURATION, value);
  const rounded = Math.round(ns);
  if (rounded === 0 && ns > 0) throw problem('E_CONFIG_VALUE', `${show(value)} is shorter than 1ns`);
  if (!Number.isSafeInteger(rounded))
    throw problem('E_CONFIG_VALUE', `${show(value)} is longer than 104 days`);
  return rounded;
}

/** `600/s`, `36k/m`, `12/h` to requests per second. */
export function parseRate(value: unknown): number {
  return readQuantity(RATE, value);
}

/** `16MiB`, `12.2GB`, `4kB` to bytes. */
export function parseBytes(value: unknown): number {
  return Math.round(readQuantity(SIZE, value));
}

/** `2.48/h` or `0.0007/s` to a price per hour. */
export function parsePrice(value: unknown): number {
  return readQuantity(PRICE, value);
}

/** `12.2GB/s` to bytes per second; `unlimited` is Infinity. */
export function parseBandwidth(value: unknown): number {
  return value === 'unlimited' ? Number.POSITIVE_INFINITY : readQuantity(BANDWIDTH, value);
}

/** `25.6M`, `4k` or a plain number. */
export function parseCount(value: unknown): number {
  return typeof value === 'number' ? notNegative(value) : readQuantity(COUNT, value);
}

/** `5%` or `0.05` to 0.05. */
export function parseShare(value: unknown): number {
  return typeof value === 'number' ? notNegative(value) : readQuantity(SHARE, value);
}

/** The shortest exact text of a duration: `10ms`, `1.5s`, `90s`, `2m`. */
export function formatDuration(ns: number): string {
  if (ns === 0) return '0s';
  if (ns % NS_PER_HOUR === 0) return `${ns / NS_PER_HOUR}h`;
  if (ns % NS_PER_MINUTE === 0) return `${ns / NS_PER_MINUTE}m`;
  return formatIn(
    [
      ['s', NS_PER_S],
      ['ms', NS_PER_MS],
      ['us', NS_PER_US],
      ['ns', 1],
    ],
    ns,
  );
}

/** Text of a size in binary units, exact if it is a whole number of them: `16MiB`, `97.43MiB`. */
export function formatBytes(bytes: number): string {
  return formatIn(
    [
      ['GiB', GIB],
      ['MiB', MIB],
      ['KiB', KIB],
      ['B', 1],
    ],
    bytes,
    2,
  );
}

/** Text of a count with a decimal suffix: `25.6M`. */
export function formatCount(count: number): string {
  return formatIn(
    [
      ['G', 1e9],
      ['M', 1e6],
      ['k', 1e3],
      ['', 1],
    ],
    count,
    2,
  );
}

/**
 * Values of a list or range, as texts: `10ms,25ms` gives both, `1ms:20ms:1ms` gives 1ms, 2ms, … 20ms (start:end:step,
 * end included, to twelve digits), `clockwork,fifo` both names. Ranges may mix units of time; their values are then
 * written in the finest.
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

interface Quantity {
  readonly noun: string;
  readonly example: string;
  /** Factor to the canonical unit as a fraction, so that 36k/m is exactly 600/s. */
  readonly units: Readonly<Record<string, readonly [number, number]>>;
}

const MULTIPLES = { '': 1, k: 1e3, M: 1e6, G: 1e9 };
const DURATION_NS = { ns: 1, us: NS_PER_US, ms: NS_PER_MS, s: NS_PER_S, m: NS_PER_MINUTE, h: NS_PER_HOUR };
const SIZE_BYTES = {
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: KIB,
  MiB: MIB,
  GiB: GIB,
  TiB: 1024 * GIB,
};

const DURATION: Quantity = { noun: 'duration', example: '10ms', units: plain(DURATION_NS) };
const SIZE: Quantity = { noun: 'size', example: '16MiB', units: plain(SIZE_BYTES) };
const COUNT: Quantity = { noun: 'count', example: '25.6M', units: plain(MULTIPLES) };
const SHARE: Quantity = { noun: 'share', example: '5%', units: { '%': [1, 100], '': [1, 1] } };
const BANDWIDTH: Quantity = {
  noun: 'bandwidth',
  example: '12.2GB/s, or unlimited',
  units: plain(Object.fromEntries(Object.entries(SIZE_BYTES).map(([unit, bytes]) => [`${unit}/s`, bytes]))),
};
const RATE: Quantity = {
  noun: 'rate',
  example: '600/s',
  units: Object.fromEntries(
    Object.entries(MULTIPLES).flatMap(([prefix, multiple]) => [
      [`${prefix}/s`, [multiple, 1]],
      [`${prefix}/m`, [multiple, 60]],
      [`${prefix}/h`, [multiple, 3600]],
    ]),
  ),
};

const PRICE: Quantity = {
  noun: 'price',
  example: '2.48/h',
  units: { '/s': [3600, 1], '/m': [60, 1], '/h': [1, 1], '/d': [1, 24] },
};

function plain(units: Readonly<Record<string, number>>): Quantity['units'] {
  return Object.fromEntries(Object.entries(units).map(([unit, factor]) => [unit, [factor, 1]]));
}

function readQuantity(quantity: Quantity, value: unknown): number {
  if (value === 0 || value === '0') return 0;
  const { noun, example, units } = quantity;
  const parts = typeof value === 'number' || typeof value === 'string' ? splitNumber(String(value)) : null;
  if (parts === null)
    throw problem('E_CONFIG_VALUE', `must be a ${noun} such as ${example}, found ${show(value)}`);
  const fraction = Object.hasOwn(units, parts.unit) ? units[parts.unit] : undefined;
  if (fraction === undefined) {
    const wrong = parts.unit === '' ? 'has no unit' : `has the unknown unit ${parts.unit}`;
    throw problem(
      'E_CONFIG_UNIT',
      `${show(value)} ${wrong}: write a ${noun} such as ${example} (units: ${unitNames(units)})`,
    );
  }
  return notNegative((Number(parts.digits) * fraction[0]) / fraction[1], value);
}

function unitNames(units: Quantity['units']): string {
  return Object.keys(units)
    .filter((unit) => unit !== '')
    .join(', ');
}

function notNegative(value: number, written: unknown = value): number {
  if (!Number.isFinite(value)) throw problem('E_CONFIG_VALUE', `must be a finite number, found ${value}`);
  if (value < 0) throw problem('E_CONFIG_VALUE', `must not be negative, found ${show(written)}`);
  return value;
}

function splitNumber(text: string): { digits: string; unit: string } | null {
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*)$/.exec(text.trim());
  return match === null ? null : { digits: match[1]!, unit: match[2]! };
}

function formatIn(units: readonly (readonly [string, number])[], value: number, decimals = 9): string {
  const [unit, factor] = units.find(([, size]) => value >= size) ?? units[units.length - 1]!;
  return `${Number((value / factor).toFixed(decimals))}${unit}`;
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
  const units = [
    ...new Set(known.filter(({ unit, value }) => unit !== '' || value !== 0).map(({ unit }) => unit)),
  ];
  const times: Readonly<Record<string, number>> = DURATION_NS;
  if (units.length > 1 && known.length === 3 && !units.every((unit) => Object.hasOwn(times, unit)))
    throw problem('E_CONFIG_UNIT', `${part} mixes units: write start, end and step in the same unit`);
  const unit = units.reduce((a, b) => (times[a]! < times[b]! ? a : b), units[0] ?? '');
  const [start = 0, end = 0, step = 0] = known.map((each) =>
    exact(units.length > 1 ? (each.value * (times[each.unit] ?? 0)) / times[unit]! : each.value),
  );
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
