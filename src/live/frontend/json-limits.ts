import { Refusal } from './refusal.js';

/** A tensor lies three levels deep and has a few dimensions of its own. */
const DEEPEST = 64;
/** An infer request has a few keys for each tensor. */
const MOST_KEYS = 10_000;
const MOST_OBJECTS = 10_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Throws a refusal for JSON whose parsing would cost far more than its size suggests. One pass over the first `bytes`
 * bytes; that they are JSON is for the parser to say.
 */
export function checkJsonLimits(body: Uint8Array, bytes: number): void {
  let depth = 0;
  let keys = 0;
  let objects = 0;
  for (let at = 0; at < bytes; at++) {
    switch (body[at]) {
      case QUOTE:
        at = endOfString(body, at, bytes);
        break;
      case OPEN_OBJECT:
        if (++objects > MOST_OBJECTS) throw beyond(`more than ${MOST_OBJECTS} objects`);
        if (++depth > DEEPEST) throw beyond(`more than ${DEEPEST} levels`);
        break;
      case OPEN_LIST:
        if (++depth > DEEPEST) throw beyond(`more than ${DEEPEST} levels`);
        break;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        depth--;
        break;
      case COLON:
        if (++keys > MOST_KEYS) throw beyond(`more than ${MOST_KEYS} keys`);
        break;
    }
  }
}

/** Where the string that begins at `at` ends. */
function endOfString(body: Uint8Array, at: number, bytes: number): number {
  for (let end = at + 1; end < bytes; end++) {
    if (body[end] === BACKSLASH) end++;
    else if (body[end] === QUOTE) return end;
  }
  return bytes;
}

function beyond(what: string): Refusal {
  return new Refusal('invalid', `the JSON of the body has ${what}`);
}
