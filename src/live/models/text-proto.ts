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
  return new Reader(tokensOf(text), fail).message('', 0);
}

/** Nesting limit, above any real message; each level is a call on the stack. */
const MOST_LEVELS = 64;

/** Line ends, spaces, comments, strings, names and numbers, other characters. */
const TOKENS = /\n|[ \t\v\f\r]+|#[^\n]*|"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*'|[\w.+-]+|[\s\S]/gu;
const STRING = /^(["']).*\1$/s;
const NAME = /^[A-Za-z_]\w*$/;
const INTEGER = /^-?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)$/;
const FLOAT = /^-?(?:(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|(?:0|[1-9]\d*)(?:[eE][+-]?\d+|(?=[fF])))[fF]?$/;
const CLOSES: Readonly<Record<string, string>> = { '{': '}', '<': '>' };

interface Token {
  /** Empty: the end. */
  readonly text: string;
  readonly line: number;
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  for (const [token] of text.replace(/^\ufeff/, '').matchAll(TOKENS)) {
    if (token === '\n') line++;
    else if (!/^[ \t\v\f\r#]/.test(token)) tokens.push({ text: token, line });
  }
  return [...tokens, { text: '', line }];
}

class Reader {
  private at = 0;

  constructor(
    private readonly tokens: readonly Token[],
    private readonly fail: (what: string, line: number) => Error,
  ) {}

  /** Fields up to `end`, which is '' for the end of the text. */
  message(end: string, levels: number): TextField[] {
    const fields: TextField[] = [];
    while (!this.skip(end)) {
      const { text: name, line } = this.next;
      if (name === '[') throw this.fail('names of extensions and types are not supported', line);
      if (!NAME.test(name)) throw this.unexpected(end === '' ? 'a field' : `a field or "${end}"`);
      this.at++;
      const hasColon = this.skip(':');
      if (!this.skip('[')) fields.push({ name, line, value: this.value(hasColon, levels) });
      else if (!this.skip(']')) {
        do fields.push({ name, line: this.next.line, value: this.value(hasColon, levels) });
        while (this.skip(','));
        if (!this.skip(']')) throw this.unexpected('"," or "]"');
      }
      if (!this.skip(',')) this.skip(';');
    }
    return fields;
  }

  private get next(): Token {
    return this.tokens[this.at];
  }

  private value(hasColon: boolean, levels: number): TextValue {
    const { text, line } = this.next;
    if (Object.hasOwn(CLOSES, text)) {
      if (levels === MOST_LEVELS) throw this.fail('messages are nested too deeply', line);
      this.at++;
      return { kind: 'message', fields: this.message(CLOSES[text], levels + 1) };
    }
    if (!hasColon) throw this.unexpected('":" or "{"');
    if (STRING.test(text)) return { kind: 'string', text: this.strings() };
    const sign = this.skip('-') ? '-' : '';
    const scalar = scalarOf(sign + this.next.text);
    if (scalar === null) throw this.unexpected('a value');
    this.at++;
    return scalar;
  }

  /** Adjacent strings are one. */
  private strings(): string {
    const parts: Buffer[] = [];
    for (; STRING.test(this.next.text); this.at++) {
      const { text, line } = this.next;
      const bytes = unescaped(text.slice(1, -1));
      if (bytes === null) throw this.fail(`${text} has an escape that is not valid`, line);
      parts.push(bytes);
    }
    return Buffer.concat(parts).toString('utf8');
  }

  private skip(text: string): boolean {
    if (this.next.text !== text) return false;
    this.at++;
    return true;
  }

  private unexpected(wanted: string): Error {
    const { text, line } = this.next;
    return this.fail(
      `expected ${wanted}, found ${text ? JSON.stringify(text) : 'the end of the file'}`,
      line,
    );
  }
}

/** Null: it is neither a number nor a name. */
function scalarOf(word: string): TextValue | null {
  if (INTEGER.test(word)) {
    const radix = /^-?0x/i.test(word) ? 16 : /^-?0[0-7]/.test(word) ? 8 : 10;
    return { kind: 'integer', number: Number.parseInt(word, radix) };
  }
  if (FLOAT.test(word)) return { kind: 'float', number: Number.parseFloat(word) };
  if (/^-?inf(?:inity)?$/i.test(word)) {
    const infinity = Number.POSITIVE_INFINITY;
    return { kind: 'float', number: word.startsWith('-') ? -infinity : infinity };
  }
  if (/^-?nan$/i.test(word)) return { kind: 'float', number: Number.NaN };
  return NAME.test(word) ? { kind: 'name', text: word } : null;
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
