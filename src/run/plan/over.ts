import { type EscapementError, usageError } from '../../base/errors.js';
import { variedValues } from '../../config/sweep-section.js';
import { validate } from '../../config/validate.js';
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
  if (key === 'seed') throw usage(text, 'seeds are given with --seeds 1:3');
  return { key, from: from.trim(), to: to.trim(), step: step?.trim() ?? null };
}

/**
 * Candidate values: by the step if one is given, one by one if the key is a whole number (`integer`), else in steps of
 * about 1 %. Throws `E_USAGE` for an invalid range.
 */
export function latticeOf(over: Over, integer: boolean): Lattice {
  const { from, to, step } = over;
  const [low, high] = [numberOf(over, from), numberOf(over, to)];
  if (step !== null) {
    numberOf(over, step);
    const placeOf = () => ({ flag: `--over ${over.key}` });
    const texts = validate(variedValues, `${from}:${to}:${step}`, placeOf, 'E_USAGE');
    if (texts.length < 2) throw usage(written(over), 'the step is longer than the range');
    return listed(texts, `steps of ${step}`);
  }
  if (!integer) return listed(relativeSteps(over, low, high), 'steps of about 1 %');
  checkOrder(over, low.value, high.value);
  return {
    size: Math.floor(high.value - low.value) + 1,
    text: (index) => String(low.value + index),
    resolution: 'steps of 1',
  };
}

interface UnitNumber {
  readonly value: number;
  readonly unit: string;
}

function numberOf(over: Over, text: string): UnitNumber {
  const match = /^(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z%/]*)$/.exec(text);
  if (match === null) throw usage(written(over), `${text} is not a number, with its unit if it has one`);
  return { value: Number(match[1]), unit: match[2]! };
}

/** The exact ends, and between them numbers of a few digits, in about equal ratios. */
function relativeSteps(over: Over, low: UnitNumber, high: UnitNumber): string[] {
  if (low.value === 0)
    throw usage(written(over), `a range from 0 needs a step: ${over.from}:${over.to}:STEP`);
  if (low.unit !== high.unit)
    throw usage(written(over), `mixes units: write both ends in ${low.unit || high.unit}`);
  const most = high.value;
  checkOrder(over, low.value, most);
  const intervals = Math.max(1, Math.ceil(Math.log(most / low.value) / Math.log1p(RELATIVE_STEP)));
  const values = Array.from({ length: intervals - 1 }, (_, i) =>
    significant(low.value * (most / low.value) ** ((i + 1) / intervals), DIGITS),
  );
  const inside = values.filter((value) => value > low.value && value < most);
  return [...new Set([over.from, ...inside.map((value) => value + low.unit), over.to])];
}

function checkOrder(over: Over, low: number, high: number): void {
  if (low < high) return;
  if (low === high)
    throw usage(written(over), 'a range needs two different ends; simulate runs a single value');
  throw usage(written(over), `the range must ascend: write ${over.key}=${over.to}:${over.from}`);
}

function listed(texts: readonly string[], resolution: string): Lattice {
  return { size: texts.length, text: (index) => texts[index]!, resolution };
}

/** A range as given to `--over`. */
export function written({ key, from, to, step }: Over): string {
  return `${key}=${from}:${to}${step === null ? '' : `:${step}`}`;
}

function usage(text: string, problem: string): EscapementError {
  return usageError(`--over ${text}: ${problem}`);
}
