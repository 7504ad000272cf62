import { plural } from '../../text/words.js';

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

/** The beginning of a body: text as it is, and of what is no text the number of its bytes and the first in hex. */
export function bodyText(body: Uint8Array): string {
  const head = body.subarray(0, MOST_BODY_BYTES);
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(head, { stream: true });
  const at = text.search(NO_TEXT);
  if (at < 0) return text;
  const before = text.slice(0, at);
  const rest = body.subarray(Buffer.byteLength(before));
  const hex = Buffer.from(rest.subarray(0, MOST_HEX_BYTES)).toString('hex');
  const bytes = `${plural(rest.length, 'byte')}: ${hex}${rest.length > MOST_HEX_BYTES ? '…' : ''}`;
  return before === '' ? `(${bytes})` : `${before} (and ${bytes})`;
}

const MOST_BODY_BYTES = 400;
const MOST_HEX_BYTES = 16;
/** Control characters other than blanks, and what stands for bytes that are not UTF-8. */
const NO_TEXT = /(?![\t\n\r])[\p{Cc}\ufffd]/u;

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
