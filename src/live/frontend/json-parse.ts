/** What a text says, with numbers that plain JSON loses. */
export interface ParsedJson {
  /**
   * Whole numbers beyond 2^53 are bigints where the text may hold tensors of 64-bit integers. What is too large for a
   * double is a `HugeNumber`, or infinite.
   */
  readonly value: unknown;
  /** Infinities were written as such. Where this is false, an infinite number is one too large for a double. */
  readonly hasInfinities: boolean;
}

/** A number too large for a double, as the text has it. */
export class HugeNumber {
  constructor(readonly text: string) {}
}

/**
 * Reads JSON as Triton's server does: NaN, Infinity and Inf are numbers, also with a minus sign, and 64-bit integers
 * keep all their digits. Texts without either take no longer than `JSON.parse`. Throws `SyntaxError`.
 */
export function parseJson(text: string): ParsedJson {
  // Cheap, and right for all but clients that escape letters of a datatype: theirs are refused beyond 2^53.
  const mayHoldLongs = text.includes('INT64"');
  if (mayHoldLongs && hasLongDigits(text)) return parseExactly(text);
  if (hasExponent(text, mayHoldLongs ? 1 : HUGE_EXPONENT_DIGITS)) return parseExactly(text);
  try {
    return { value: JSON.parse(text), hasInfinities: false };
  } catch (error) {
    if (!SPECIAL.test(text)) throw error;
    return parseExactly(text);
  }
}

/** 2^53 has that many. */
const LONG_DIGITS = 16;
const SPECIAL = /NaN|Inf/;
/** Digits of the largest 64-bit integer. What has more is none. */
const MOST_DIGITS = 20;
/** Of the exponent of a number that may be too large for a double. */
const HUGE_EXPONENT_DIGITS = 3;
/** A tensor has a few dimensions, and lies three levels deep. */
const DEEPEST = 100;

function parseExactly(text: string): ParsedJson {
  return { value: new Parser(text).document(), hasInfinities: true };
}

/** Looks at one character in 16, and around it where it is a digit: a regular expression would double the time. */
function hasLongDigits(text: string): boolean {
  for (let at = LONG_DIGITS - 1; at < text.length; at += LONG_DIGITS) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let begin = at;
    while (isDigit(text.charCodeAt(begin - 1))) begin--;
    let end = at + 1;
    while (isDigit(text.charCodeAt(end))) end++;
    if (end - begin >= LONG_DIGITS) return true;
  }
  return false;
}

/** Whether some number has an exponent above zero, of that many digits or more. */
function hasExponent(text: string, fewestDigits: number): boolean {
  for (const letter of 'eE') {
    for (let at = text.indexOf(letter); at >= 0; at = text.indexOf(letter, at + 1)) {
      if (!isDigit(text.charCodeAt(at - 1))) continue;
      const begin = at + (text[at + 1] === '+' ? 2 : 1);
      let end = begin;
      while (isDigit(text.charCodeAt(end))) end++;
      if (end > begin && end - begin >= fewestDigits) return true;
    }
  }
  return false;
}

/** The whole number of up to 20 digits that a number in JSON is, to the last digit; null: it is none. */
function wholeNumber(token: string): bigint | null {
  const [, sign, whole, fraction = '', exponent = '0'] = PARTS.exec(token)!;
  const digits = whole + fraction;
  let begin = 0;
  while (digits[begin] === '0') begin++;
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  const zeros = digits.length - end - fraction.length + Number(exponent);
  if (zeros < 0 || end - begin + zeros > MOST_DIGITS) return null;
  return BigInt(`${sign}${digits.slice(begin, end)}${'0'.repeat(zeros)}`);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

class Parser {
  private at = 0;
  private depth = 0;

  constructor(private readonly text: string) {}

  document(): unknown {
    const value = this.value();
    this.skipSpace();
    if (this.at < this.text.length) this.fail();
    return value;
  }

  private value(): unknown {
    this.skipSpace();
    switch (this.text[this.at]) {
      case '{':
        return this.object();
      case '[':
        return this.array();
      case '"':
        return this.string();
      case 't':
        return this.word('true', true);
      case 'f':
        return this.word('false', false);
      case 'n':
        return this.word('null', null);
      default:
        return this.number();
    }
  }

  private object(): object {
    const entries: [string, unknown][] = [];
    this.list('}', () => {
      this.skipSpace();
      if (this.text[this.at] !== '"') this.fail();
      const key = this.string();
      this.skipSpace();
      if (this.text[this.at] !== ':') this.fail();
      this.at++;
      entries.push([key, this.value()]);
    });
    return Object.fromEntries(entries);
  }

  private array(): unknown[] {
    const items: unknown[] = [];
    this.list(']', () => items.push(this.value()));
    return items;
  }

  private list(end: string, item: () => void): void {
    if (++this.depth > DEEPEST) throw new SyntaxError(`nested more than ${DEEPEST} levels deep`);
    this.at++;
    this.skipSpace();
    if (this.text[this.at] === end) this.at++;
    else {
      for (;;) {
        item();
        this.skipSpace();
        const next = this.text[this.at];
        if (next !== ',' && next !== end) this.fail();
        this.at++;
        if (next === end) break;
      }
    }
    this.depth--;
  }

  private string(): string {
    const begin = this.at;
    let end = this.text.indexOf('"', begin + 1);
    while (end >= 0 && this.isEscaped(end)) end = this.text.indexOf('"', end + 1);
    if (end < 0) this.fail();
    this.at = end + 1;
    return JSON.parse(this.text.slice(begin, end + 1));
  }

  private isEscaped(at: number): boolean {
    let backslashes = 0;
    while (this.text[at - 1 - backslashes] === '\\') backslashes++;
    return backslashes % 2 === 1;
  }

  private word<T>(word: string, value: T): T {
    if (!this.text.startsWith(word, this.at)) this.fail();
    this.at += word.length;
    return value;
  }

  private number(): number | bigint | HugeNumber {
    NUMBER.lastIndex = this.at;
    const token = NUMBER.exec(this.text)?.[0];
    if (token === undefined) return this.special();
    this.at = NUMBER.lastIndex;
    const value = Number(token);
    if (!Number.isFinite(value)) return new HugeNumber(token);
    return Math.abs(value) > Number.MAX_SAFE_INTEGER ? (wholeNumber(token) ?? value) : value;
  }

  private special(): number {
    const sign = this.text[this.at] === '-' ? -1 : 1;
    if (sign < 0) this.at++;
    const word = ['NaN', 'Infinity', 'Inf'].find((each) => this.text.startsWith(each, this.at));
    if (word === undefined) return this.fail();
    this.at += word.length;
    return word === 'NaN' ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  }

  private skipSpace(): void {
    for (;;) {
      const next = this.text.charCodeAt(this.at);
      if (next !== 0x20 && next !== 0x0a && next !== 0x0d && next !== 0x09) return;
      this.at++;
    }
  }

  private fail(): never {
    const { text, at } = this;
    const what = at < text.length ? `unexpected ${JSON.stringify(text[at])}` : 'unexpected end';
    throw new SyntaxError(`${what} at position ${at}`);
  }
}

const PARTS = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
