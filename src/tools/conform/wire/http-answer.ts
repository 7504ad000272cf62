import { fail } from '../finding.js';
import { bodyText, shown } from '../plain.js';

/** An answer over HTTP. */
export class HttpAnswer {
  constructor(
    readonly status: number,
    /** By name in lower case; several of a name are joined by commas. */
    readonly headers: ReadonlyMap<string, string>,
    readonly body: Buffer,
    /** The server meant to close the connection after it. */
    readonly closes: boolean,
  ) {}

  get text(): string {
    return this.body.toString('utf8');
  }

  header(name: string): string | undefined {
    return this.headers.get(name);
  }

  /** The JSON in front of binary data, or the whole body. Fails where it is none. */
  json(): unknown {
    return parseJson(this.jsonBytes().toString('utf8'));
  }

  /** The same, of which nothing but an object is accepted. */
  object(): Readonly<Record<string, unknown>> {
    const value = this.json();
    if (isObject(value)) return value;
    return fail(`the answer is ${shown(value)}, not a JSON object`);
  }

  /** What follows the JSON; null where the answer has no binary data. */
  binary(): Buffer | null {
    const length = this.header('inference-header-content-length');
    if (length === undefined) return null;
    return this.body.subarray(this.jsonBytes().length);
  }

  private jsonBytes(): Buffer {
    const length = this.header('inference-header-content-length');
    if (length === undefined) return this.body;
    const bytes = Number(length);
    if (/^\d+$/.test(length) && bytes <= this.body.length) return this.body.subarray(0, bytes);
    return fail(
      `Inference-Header-Content-Length is ${shown(length)}, and the body has ${this.body.length} bytes`,
    );
  }

  summary(): string {
    const type = this.header('content-type') ?? 'no content type';
    return `${this.status} (${type}, ${this.body.length} bytes) ${bodyText(this.body)}`;
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return fail(text === '' ? 'the body is empty' : `the body is not JSON: ${(error as Error).message}`);
  }
}
