import { type ErrorCode, type ErrorPlace, EscapementError } from '../../base/errors.js';
import { variedValues } from '../../config/sweep-section.js';
import { formatDuration, parseDuration } from '../../config/units-text.js';
import { validate } from '../../config/validate.js';
import { valuesLabel } from '../../report/quantity.js';
import { significant } from '../../text/numbers.js';

/** Key of `--over`, and its range. */
export interface Over {
  readonly key: string;
  /** As written. */
  readonly from: string;
  readonly to: string;
  readonly step: string | null;
}

/** Values of a range in ascending order, by index; texts are as in an experiment file. */
export interface Lattice {
  readonly size: number;
  text(index: number): string;
  /** Distance of neighbours, for people. */
  readonly resolution: string;
}

/** Candidates of a plan: each is a few keys of the experiment with a value for each. */
export interface Candidates {
  readonly size: number;
  /** Text of the candidate in results. */
  text(index: number): string;
  /** Its name for people: `62 GPUs`, `SLO 12.4 ms`, `2 × v100 + 5 × t4`. */
  name(index: number): string;
  /** Its changes to the experiment. */
  settings(index: number): readonly Setting[];
  /** Candidates that show whether the experiment can run at all. */
  readonly ends: readonly number[];
}

/** A key with a value of its range, if it has one. */
interface Setting {
  readonly key: string;
  readonly value: string;
  readonly over?: Over;
}

/** Place of a setting on the command line; of its whole range if its key is wrong. */
export function placeAmong(settings: readonly Setting[]) {
  return (override: string, code: ErrorCode): ErrorPlace | undefined => {
    const over = settings.find(({ key, value }) => override === `${key}=${value}`)?.over;
    if (over === undefined) return undefined;
    return { flag: `--over ${code === 'E_CONFIG_KEY' ? written(over) : override}` };
  };
}

/** Relative distance of neighbours, if the key is not a whole number and no step is given. */
const RELATIVE_STEP = 0.01;
/** Significant digits of such a value. */
const DIGITS = 3;

/** Parses `KEY=FROM:TO` or `KEY=FROM:TO:STEP`. Throws `E_USAGE`. */
export function parseOver(text: string): Over {
  const match = /^\s*([^=\s]+)\s*=\s*([^:]+):([^:]+)(?::([^:]+))?$/.exec(text);
  if (match === null) {
    throw usage(text, 'write KEY=FROM:TO or KEY=FROM:TO:STEP, e.g. cluster.gpus=1:64 or slo=10ms:500ms');
  }
  const [, key, from, to, step] = match as unknown as [string, string, string, string, string | undefined];
  if (key === 'seed') throw usage(text, 'seeds are given with --seeds 1,2,3');
  return { key, from: from.trim(), to: to.trim(), step: step?.trim() ?? null };
}

/**
 * Candidate values: by the step if one is given, one by one if the key is a whole number (`integer`), else in steps of
 * about 1 %. Throws `E_USAGE` for an invalid range.
 */
export function latticeOf(over: Over, integer: boolean): Lattice {
  const { from, to, step } = over;
  const [low, high] = [splitNumber(over, from), splitNumber(over, to)];
  if (step !== null) {
    splitNumber(over, step);
    return listed(steps(over, `${from}:${to}:${step}`), `steps of ${step}`);
  }
  if (integer) {
    checkOrder(over, low.value, high.value);
    return {
      size: Math.floor(high.value - low.value) + 1,
      text: (index) => String(low.value + index),
      resolution: 'steps of 1',
    };
  }
  return listed(relativeSteps(over, low, high), 'steps of about 1 %');
}

interface Quantity {
  readonly value: number;
  readonly unit: string;
}

function splitNumber(over: Over, text: string): Quantity {
  const match = /^(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z%/]*)$/.exec(text);
  if (match === null) throw usage(written(over), `${text} is not a number, with its unit if it has one`);
  return { value: Number(match[1]), unit: match[2]! };
}

/** List for an explicit step; throws like `--vary`. */
function steps(over: Over, range: string): readonly string[] {
  const texts = validate(variedValues, range, { placeOf: () => ({ flag: `--over ${over.key}` }) }, 'E_USAGE');
  if (texts.length < 2) throw usage(written(over), 'the step is longer than the range');
  return texts;
}

function relativeSteps(over: Over, low: Quantity, high: Quantity): string[] {
  if (low.value === 0)
    throw usage(written(over), `a range from 0 needs a step: ${over.from}:${over.to}:STEP`);
  if (low.unit === high.unit) return geometric(over, low.value, high.value, (value) => value + low.unit);
  const [fromNs, toNs] = [over.from, over.to].map((text) => durationOrNull(text));
  if (fromNs == null || toNs == null) {
    throw usage(written(over), `mixes units: write both ends in ${low.unit || high.unit}`);
  }
  return geometric(over, fromNs, toNs, (value) => formatDuration(Math.round(value)));
}

/** The exact ends, and between them numbers of a few digits in about equal ratios. */
function geometric(over: Over, low: number, high: number, textOf: (value: number) => string): string[] {
  checkOrder(over, low, high);
  const intervals = Math.max(1, Math.ceil(Math.log(high / low) / Math.log1p(RELATIVE_STEP)));
  const values = Array.from({ length: intervals - 1 }, (_, i) =>
    significant(low * (high / low) ** ((i + 1) / intervals), DIGITS),
  );
  const inside = values.filter((value) => value > low && value < high);
  return [...new Set([low, ...inside, high].map(textOf))];
}

function checkOrder(over: Over, low: number, high: number): void {
  if (low < high) return;
  if (low === high)
    throw usage(written(over), 'a range needs two different ends; simulate runs a single value');
  throw usage(written(over), `the range must ascend: write ${over.key}=${over.to}:${over.from}`);
}

function durationOrNull(text: string): number | null {
  try {
    return parseDuration(text);
  } catch {
    return null;
  }
}

function listed(texts: readonly string[], resolution: string): Lattice {
  return { size: texts.length, text: (index) => texts[index]!, resolution };
}

/** A range as given to `--over`. */
export function written({ key, from, to, step }: Over): string {
  return `${key}=${from}:${to}${step === null ? '' : `:${step}`}`;
}

/** The values of one key. */
export function valuesOf(over: Over, lattice: Lattice): Candidates {
  return {
    size: lattice.size,
    text: (index) => lattice.text(index),
    name: (index) => namedValue(over.key, lattice.text(index)),
    settings: (index) => [{ key: over.key, value: lattice.text(index), over }],
    ends: [0, lattice.size - 1],
  };
}

/** Name of a value of a key: `62 GPUs`, `SLO 12.4 ms`. */
export function namedValue(key: string, value: string): string {
  if (key !== 'cluster.gpus') return valuesLabel({ [key]: value });
  return value === '1' ? '1 GPU' : `${value} GPUs`;
}

/** Changes of a candidate in the form of `--set`. */
export function overridesOf(candidates: Candidates, index: number): string[] {
  return candidates.settings(index).map(({ key, value }) => `${key}=${value}`);
}

function usage(text: string, problem: string): EscapementError {
  return new EscapementError('E_USAGE', `--over ${text}: ${problem}`);
}
