/**
 * The known name that was probably meant: the one with few different letters, or the only one that is a prefix or an
 * extension of the given name. Undefined if none is close. Case, `_` and `-` are ignored.
 */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const wanted = normal(name);
  let best: string | undefined;
  let bestDistance = limit(wanted) + 1;
  let bestAlike = 0;
  for (const candidate of known) {
    const text = normal(candidate);
    // The first letter of a short name must match: few people mistype it, and short names are all close to each other.
    if (wanted.length < LONG && wanted[0] !== text[0]) continue;
    const distance = editDistance(wanted, text);
    const alike = lettersAlike(wanted, text);
    if (distance < bestDistance || (best !== undefined && distance === bestDistance && alike > bestAlike)) {
      best = candidate;
      bestDistance = distance;
      bestAlike = alike;
    }
  }
  // People shorten names: a prefix is likelier than several wrong letters.
  return bestDistance === 1 ? best : (onlyPrefix(wanted, known) ?? best);
}

/** Known names in an error, which is one line. */
const MOST_KNOWN = 30;

/** `did you mean "gpus"?`, or the known names if none is close, as far as they fit. */
export function suggestion(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  if (meant !== undefined) return `did you mean "${meant}"?`;
  const more = known.length > MOST_KNOWN ? `, and ${known.length - MOST_KNOWN} more` : '';
  return `known: ${known.slice(0, MOST_KNOWN).join(', ')}${more}`;
}

/** Names that may have been meant: the nearest, and those that contain the name; at most `most`. */
export function candidates(name: string, known: readonly string[], most: number): string[] {
  const meant = nearest(name, known);
  const wanted = normal(name);
  const alike = known.filter((one) => wanted.length >= PREFIX && normal(one).includes(wanted));
  return [...new Set([...(meant === undefined ? [] : [meant]), ...alike])].slice(0, most);
}

/** Length of a name from which two letters may be wrong. */
const LONG = 5;
/** Minimum common prefix for one name to stand for another. */
const PREFIX = 3;

function limit({ length }: string): number {
  if (length < 3) return 0;
  return length < LONG ? 1 : Math.max(2, Math.floor(length / 3));
}

/** The only name that begins with `wanted`, or that `wanted` begins with; longer forms of that name do not count. */
function onlyPrefix(wanted: string, known: readonly string[]): string | undefined {
  const found = known.filter((candidate) => {
    const [short, long] = [wanted, normal(candidate)].sort((a, b) => a.length - b.length) as [string, string];
    return short.length >= PREFIX && long.startsWith(short);
  });
  const [shortest] = found.toSorted((a, b) => a.length - b.length);
  return found.every((candidate) => candidate.startsWith(shortest!)) ? shortest : undefined;
}

function normal(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '');
}

/** Number of letters that agree at the beginning and at the end. */
function lettersAlike(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  let front = 0;
  while (front < shorter && a[front] === b[front]) front++;
  let back = 0;
  while (back < shorter && a.at(-1 - back) === b.at(-1 - back)) back++;
  return front + back;
}

/** Levenshtein distance, with a swap of neighbors as one mistake. */
function editDistance(a: string, b: string): number {
  let above: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const least = Math.min(replaced, row[j]! + 1, next[j - 1]! + 1);
      next.push(swapped ? Math.min(least, above[j - 2]! + 1) : least);
    }
    above = row;
    row = next;
  }
  return row[b.length]!;
}
