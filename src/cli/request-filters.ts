import { EscapementError } from '../base/errors.js';
import { nearest } from '../base/nearest.js';

/** Flags that pick failed requests. */
export const FILTERS = ['model', 'class', 'tenant', 'cause'] as const;

/** Index of a class or tenant by its name; undefined: none is asked for. Throws `E_USAGE` where the run has none of that name. */
export function senderIndex(
  flag: 'class' | 'tenant',
  names: readonly string[],
  name?: string,
): number | undefined {
  if (name === undefined) return undefined;
  const index = names.indexOf(name);
  if (index >= 0) return index;
  const what =
    names.length === 0
      ? `the run has no ${flag === 'class' ? 'classes' : 'tenants'}`
      : `the run has no such ${flag}${hintFor(name, names)}`;
  throw new EscapementError('E_USAGE', `--${flag} ${name}: ${what}`);
}

export function unknownModel(name: string, names: readonly string[]): EscapementError {
  const what = `--model ${name}: no model of that name had requests in this run`;
  return new EscapementError('E_USAGE', `${what}${hintFor(name, names)}`);
}

function hintFor(name: string, names: readonly string[]): string {
  const meant = nearest(name, names);
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}
