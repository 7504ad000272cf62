import type { Options } from 'yargs';
import { EscapementError } from '../core/errors.js';

/** A flag with one value. Giving it twice is a mistake rather than a silent choice. */
export function oneValue<const O extends Options>(options: O) {
  return { ...options, type: 'string', requiresArg: true, coerce: single } as const;
}

/** The same with a value when it is not given. */
export function oneValueOr(value: string, describe: string) {
  return {
    describe,
    default: value,
    type: 'string',
    requiresArg: true,
    coerce: (given: string) => single(given) ?? value,
  } as const;
}

/** A flag that may be given many times. */
export function manyValues<const O extends Options>(options: O) {
  return {
    ...options,
    type: 'string',
    array: true,
    requiresArg: true,
    default: [] as string[],
    defaultDescription: 'none',
  } as const;
}

/** A whole number from a flag. Throws `E_USAGE`. */
export function wholeNumber(text: string, flag: string, min: number): number {
  const value = /^\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new EscapementError('E_USAGE', `--${flag} ${text}: write a whole number, at least ${min}`);
}

function single(value: string | string[] | undefined): string | undefined {
  if (!Array.isArray(value)) return value;
  throw new EscapementError('E_USAGE', `a flag was given more than once (${value.join(', ')})`);
}
