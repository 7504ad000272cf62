/** A field of a message in protobuf's text format. */
export interface TextField {
  readonly name: string;
  /** 1-based. */
  readonly line: number;
  readonly value: TextValue;
}

type TextValue =
  | { readonly kind: 'string'; readonly text: string }
  /** `number` is not exact beyond 2⁵³. */
  | { readonly kind: 'integer' | 'float'; readonly number: number }
  /** A boolean or the name of an enumeration value. */
  | { readonly kind: 'name'; readonly text: string }
  | { readonly kind: 'message'; readonly fields: readonly TextField[] };

/**
 * Reads a message in [protobuf's text format](https://protobuf.dev/reference/protobuf/textformat-spec/) without knowing
 * its type: each occurrence of a field, in order. A list `[a, b]` counts as two occurrences. Names of extensions and
 * `Any` messages, which need types, are rejected. Throws the result of `fail` for a mistake and its 1-based line.
 */
export function readTextProto(text: string, fail: (what: string, line: number) => Error): TextField[] {
  return new Reader(text, fail).message('');
}

/** Nesting limit, above any real message; each level is a call on the stack. */
const MOST_LEVELS = 64;

const SPACE = /(?:[ \t\n\v\f\r]|#[^\n]*)*/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const INTEGER = /0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*/y;
const FLOAT =
  /(?:(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?:0|[1-9][0-9]*)[eE][+-]?[0-9]+)[fF]?|(?:0|[1-9][0-9]*)[fF]/y;
const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/y;
/** Characters that must not follow a number. */
const PART_OF_WORD = /[A-Za-z0-9_.]/y;
const CLOSES: Readonly<Record<string, string>> = { '{': '}', '<': '>' };

class Reader {
  private at = 0;
  private line = 1;
  private levels = 0;

  constructor(
    private readonly text: string,
    private readonly fail: (what: string, line: number) => Error,
  ) {
    if (text.startsWith('\ufeff')) this.at = 1;
    this.skipSpace();
  }

  /** Fields up to `end`, which is '' for the end of the text. */
  message(end: string): TextField[] {
    const fields: TextField[] = [];
    while (end === '' ? this.at < this.text.length : !this.skip(end)) {
      const { line } = this;
      if (this.text[this.at] === '[')
        throw this.fail('names of extensions and types are not supported', line);
      const name = this.take(NAME);
      if (name === null) throw this.unexpected(end === '' ? 'a field' : `a field or "${end}"`);
      const hasColon = this.skip(':');
      if (this.skip('[')) this.list(name, hasColon, fields);
      else fields.push({ name, line, value: this.value(hasColon) });
      if (!this.skip(',')) this.skip(';');
    }
    return fields;
  }

  private list(name: string, hasColon: boolean, fields: TextField[]): void {
    if (this.skip(']')) return;
    do fields.push({ name, line: this.line, value: this.value(hasColon) });
    while (this.skip(','));
    if (!this.skip(']')) throw this.unexpected('"," or "]"');
  }

  private value(hasColon: boolean): TextValue {
    const end = CLOSES[this.text[this.at]];
    if (end !== undefined) {
      if (++this.levels > MOST_LEVELS) throw this.fail('messages are nested too deeply', this.line);
      this.skip(this.text[this.at]);
      const fields = this.message(end);
      this.levels--;
      return { kind: 'message', fields };
    }
    if (!hasColon) throw this.unexpected('":" or "{"');
    return this.scalar();
  }

  private scalar(): TextValue {
    const string = this.strings();
    if (string !== null) return { kind: 'string', text: string };
    const sign = this.skip('-') ? -1 : 1;
    const name = this.take(NAME);
    if (name !== null) {
      if (/^inf(inity)?$/i.test(name)) return { kind: 'float', number: sign * Number.POSITIVE_INFINITY };
      if (/^nan$/i.test(name)) return { kind: 'float', number: Number.NaN };
      if (sign === 1) return { kind: 'name', text: name };
      throw this.fail(`expected a number, found -${name}`, this.line);
    }
    const float = this.number(FLOAT);
    if (float !== null) return { kind: 'float', number: sign * Number.parseFloat(float) };
    const integer = this.number(INTEGER);
    if (integer === null) throw this.unexpected('a value');
    const isOctal = /^0[0-7]/.test(integer);
    return { kind: 'integer', number: sign * (isOctal ? Number.parseInt(integer, 8) : Number(integer)) };
  }

  /** Adjacent strings are one; null: there is none. */
  private strings(): string | null {
    let bytes: Buffer | null = null;
    for (;;) {
      const { line } = this;
      const quoted = this.take(STRING);
      if (quoted === null) break;
      const more = unescaped(quoted.slice(1, -1));
      if (more === null) throw this.fail(`${quoted} has an escape that is not valid`, line);
      bytes = Buffer.concat([bytes ?? Buffer.alloc(0), more]);
    }
    return bytes === null ? null : bytes.toString('utf8');
  }

  private number(form: RegExp): string | null {
    const { at } = this;
    const found = matchAt(form, this.text, at);
    if (found === null || matchAt(PART_OF_WORD, this.text, at + found.length) !== null) return null;
    return this.take(form);
  }

  private take(form: RegExp): string | null {
    const found = matchAt(form, this.text, this.at);
    if (found === null) return null;
    this.at += found.length;
    this.skipSpace();
    return found;
  }

  private skip(sign: string): boolean {
    if (this.text[this.at] !== sign) return false;
    this.at++;
    this.skipSpace();
    return true;
  }

  private skipSpace(): void {
    const space = matchAt(SPACE, this.text, this.at) ?? '';
    this.at += space.length;
    this.line += space.split('\n').length - 1;
  }

  private unexpected(wanted: string): Error {
    const found = matchAt(/[\w.+-]+|./suy, this.text, this.at);
    const what = found === null ? 'the end of the file' : JSON.stringify(found);
    return this.fail(`expected ${wanted}, found ${what}`, this.line);
  }
}

function matchAt(form: RegExp, text: string, at: number): string | null {
  form.lastIndex = at;
  return form.exec(text)?.[0] ?? null;
}

/** `\101` and `\x41` are bytes, `\u0041` and `\U00000041` characters. Null: an escape is not valid. */
function unescaped(text: string): Buffer | null {
  const parts: Buffer[] = [];
  for (const [part, octal, hex, short, long, letter] of text.matchAll(ESCAPES)) {
    if (!part.startsWith('\\')) parts.push(Buffer.from(part));
    else if (octal !== undefined) parts.push(Buffer.of(Number.parseInt(octal, 8)));
    else if (hex !== undefined) parts.push(Buffer.of(Number.parseInt(hex, 16)));
    else if (letter !== undefined && letter in LETTERS) parts.push(Buffer.from(LETTERS[letter]));
    else {
      const code = Number.parseInt(short ?? long, 16);
      const isHalfOfPair = code >= 0xd8_00 && code <= 0xdf_ff;
      if (isHalfOfPair || !(code <= 0x10_ff_ff)) return null;
      parts.push(Buffer.from(String.fromCodePoint(code)));
    }
  }
  return Buffer.concat(parts);
}

const ESCAPES =
  /[^\\]+|\\(?:([0-3]?[0-7]{1,2})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/gsu;

const LETTERS: Readonly<Record<string, string>> = {
  ...{ a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' },
  ...{ '?': '?', '\\': '\\', "'": "'", '"': '"' },
};
