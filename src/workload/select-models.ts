import { type ErrorPlace, EscapementError } from '../base/errors.js';

/**
 * Indices of the models whose names match at least one pattern, ascending; all models without patterns. `*` in a
 * pattern matches any text. Throws `E_UNKNOWN_MODEL` for a pattern that matches nothing, most often a typo; `place`:
 * where the patterns are written.
 */
export function selectModels(
  names: readonly string[],
  patterns?: readonly string[],
  place: ErrorPlace = { key: 'workload.models' },
): Int32Array {
  if (patterns === undefined) return Int32Array.from(names.keys());
  const selected = new Set<number>();
  for (const pattern of patterns) {
    const matches = matcher(pattern);
    const matching = names.flatMap((name, index) => (matches(name) ? [index] : []));
    if (matching.length === 0) throw noMatch(pattern, names, place);
    for (const index of matching) selected.add(index);
  }
  return Int32Array.from(selected).sort();
}

function matcher(pattern: string): (name: string) => boolean {
  const [first, ...rest] = pattern.split('*') as [string, ...string[]];
  const last = rest.pop();
  if (last === undefined) return (name) => name === first;
  // The first match of each part leaves the most room for the others, so no backtracking is needed.
  return (name) => {
    if (!name.startsWith(first) || !name.endsWith(last)) return false;
    let at = first.length;
    for (const part of rest) {
      const found = name.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return at <= name.length - last.length;
  };
}

function noMatch(pattern: string, names: readonly string[], place: ErrorPlace): EscapementError {
  const known =
    names.length > 5 ? `${names.slice(0, 5).join(', ')}, … (${names.length} models)` : names.join(', ');
  const what = `"${pattern}" matches no model of this run; there are ${known}`;
  return new EscapementError('E_UNKNOWN_MODEL', what, place);
}
