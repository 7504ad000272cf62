/** One field of a message in protobuf's text format. */
export interface TextField {
  readonly name: string;
  /** 1-based. */
  readonly line: number;
  readonly value: TextValue;
}

type TextValue =
  | { readonly kind: 'text'; readonly text: string }
  /** A number, truth value or name of an enumeration, as written. */
  | { readonly kind: 'word'; readonly text: string }
  | { readonly kind: 'message'; readonly fields: readonly TextField[] };

/**
 * Reads a message in protobuf's text format without knowing its type: each field as often as it is there, in order.
 * A list `[a, b]` is the field twice. Throws what `fail` makes of a mistake and its 1-based line.
 */
export function readTextProto(text: string, fail: (what: string, line: number) => Error): TextField[] {
  return new Reader(text, fail).message(null);
}

/** What a message of real use never reaches; each level is a call on the stack. */
const MOST_LEVELS = 64;

const SPACE = /(?:\s|#[^\n]*)*/y;
const TOKEN = /[{}<>[\]:,;]|[A-Za-z0-9_.+-]+|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/y;
const NAME = /^[A-Za-z_][\w.]*$/;
const WORD = /^[A-Za-z0-9_.+-]+$/;
const CLOSES: Readonly<Record<string, string>> = { '{': '}', '<': '>' };

class Reader {
  private at = 0;
  private line = 1;
  private levels = 0;
  private token = '';

  constructor(
    private readonly text: string,
    private readonly fail: (what: string, line: number) => Error,
  ) {
    this.next();
  }

  /** The fields up to `end`; null: up to the end of the text. */
  message(end: string | null): TextField[] {
    const fields: TextField[] = [];
    while (this.token !== (end ?? '')) {
      if (!NAME.test(this.token)) throw this.unexpected(end === null ? 'a field' : `a field or "${end}"`);
      const { token: name, line } = this;
      this.next();
      const hasColon = this.skip(':');
      if (this.skip('[')) this.list(name, fields);
      else fields.push({ name, line, value: this.value(hasColon) });
      if (!this.skip(',')) this.skip(';');
    }
    if (end !== null) this.next();
    return fields;
  }

  private list(name: string, fields: TextField[]): void {
    while (!this.skip(']')) {
      const { line } = this;
      fields.push({ name, line, value: this.value(true) });
      if (this.token !== ']' && !this.skip(',')) throw this.unexpected('"," or "]"');
    }
  }

  private value(hasColon: boolean): TextValue {
    const { token } = this;
    const end = CLOSES[token];
    if (end !== undefined) {
      this.levels++;
      if (this.levels > MOST_LEVELS) throw this.fail('messages are nested too deeply', this.line);
      this.next();
      const fields = this.message(end);
      this.levels--;
      return { kind: 'message', fields };
    }
    if (!hasColon) throw this.unexpected('":" or "{"');
    if (isQuoted(token)) return { kind: 'text', text: this.strings() };
    if (!WORD.test(token)) throw this.unexpected('a value');
    this.next();
    return { kind: 'word', text: token };
  }

  /** Strings next to each other are one. */
  private strings(): string {
    let text = '';
    while (isQuoted(this.token)) {
      text += unescaped(this.token.slice(1, -1));
      this.next();
    }
    return text;
  }

  private skip(token: string): boolean {
    if (this.token !== token) return false;
    this.next();
    return true;
  }

  /** An empty token is the end. */
  private next(): void {
    SPACE.lastIndex = this.at;
    const space = SPACE.exec(this.text)?.[0] ?? '';
    this.line += space.split('\n').length - 1;
    this.at += space.length;
    TOKEN.lastIndex = this.at;
    this.token = TOKEN.exec(this.text)?.[0] ?? '';
    if (this.token === '' && this.at < this.text.length) {
      throw this.fail(`unexpected ${JSON.stringify(this.text[this.at])}`, this.line);
    }
    this.at += this.token.length;
  }

  private unexpected(wanted: string): Error {
    const found = this.token === '' ? 'the end of the file' : JSON.stringify(this.token);
    return this.fail(`expected ${wanted}, found ${found}`, this.line);
  }
}

function isQuoted(token: string): boolean {
  return token.startsWith('"') || token.startsWith("'");
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))/g, (_, hex, octal, letter) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
    return LETTERS[letter] ?? letter;
  });
}

const LETTERS: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };
