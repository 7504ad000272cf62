const MOST_CHARS = 600;

/**
 * A server's text as it may be shown: on one line, not too long, and without what would move a terminal's cursor or
 * reverse its text.
 */
export function plain(text: string, mostChars = MOST_CHARS): string {
  const line = text
    .slice(0, 4 * mostChars)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}\s]+/gu, ' ')
    .trim();
  return line.length > mostChars || text.length > 4 * mostChars ? `${line.slice(0, mostChars)}…` : line;
}

/** Any value of a server's answer, as JSON in a message. */
export function shown(value: unknown): string {
  return plain(value === undefined ? 'nothing' : jsonOf(value), 120);
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return 'a value with too many levels to show';
  }
}
