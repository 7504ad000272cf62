/** Longest head, chunk-size line or trailer that a sane server sends. */
const LONGEST_LINE_BYTES = 65_536;

/** So much is kept of a body that says what went wrong. */
const MOST_BODY_CHARS = 4096;

/** Tells how long the JSON before binary tensors is. */
const JSON_BYTES = /\r\ninference-header-content-length:[ \t]*(\d+)/i;

const HEAD = 0;
const BODY = 1;
/** The body ends with the connection. */
const BODY_TO_END = 2;
const CHUNK_SIZE = 3;
const CHUNK_DATA = 4;
/** Lines after the last chunk, the last of them empty. */
const TRAILER = 5;

/**
 * Reads one HTTP/1.1 response after the other from a connection (RFC 9112) and drops the bodies, except the beginning of
 * those of failures, and the JSON of those of successes if it is to be kept. Bytes come in pieces of any size.
 */
export class ResponseReader {
  /** Of the response that was read last. */
  status = 0;
  /** The server closes the connection after this response. */
  closes = false;

  private state = HEAD;
  /** Byte for byte. */
  private failureText = '';
  /** Of the body or chunk. */
  private bytesLeft = 0;
  /** Beginning of a head or line whose end has not come yet. */
  private partial = '';
  /** Pieces of the JSON of a success. */
  private json: Buffer[] = [];
  /** Of it, yet to come. */
  private jsonBytesLeft = 0;
  private jsonIsWhole = true;
  private keptBytesLeft = 0;

  /** `keptBytes`: of the JSON of a success. */
  constructor(private readonly keptBytes = 0) {}

  /** The JSON of the success that was read last; null: it was longer than what is kept. */
  get kept(): Buffer | null {
    return this.jsonIsWhole ? Buffer.concat(this.json) : null;
  }

  /** Beginning of the body of the response that was read last; empty if it was a success. */
  get failure(): string {
    return Buffer.from(this.failureText, 'latin1').toString('utf8');
  }

  /** Takes the next bytes; true: a response is complete. Throws on what is not HTTP. */
  push(chunk: Buffer): boolean {
    let at = 0;
    while (at < chunk.length) {
      if (this.state === HEAD) {
        at = this.readHead(chunk, at);
      } else if (this.state === BODY || this.state === CHUNK_DATA) {
        const taken = Math.min(this.bytesLeft, chunk.length - at);
        this.keep(chunk, at, at + taken);
        this.bytesLeft -= taken;
        at += taken;
        if (this.bytesLeft === 0) this.state = this.state === CHUNK_DATA ? CHUNK_SIZE : HEAD;
      } else if (this.state === BODY_TO_END) {
        this.keep(chunk, at, chunk.length);
        return false;
      } else {
        at = this.readLine(chunk, at);
      }
      if (this.state === HEAD && this.partial === '' && this.status >= 200) {
        // One request at a time, so one response.
        if (at < chunk.length) throw new Error('the server sent more than one response to a request');
        return true;
      }
    }
    return false;
  }

  /** The server has closed the connection; true: that completes a response. */
  end(): boolean {
    return this.state === BODY_TO_END;
  }

  private keep(chunk: Buffer, begin: number, end: number): void {
    if (this.status === 200) {
      if (this.keptBytes > 0) this.keepJson(chunk, begin, end);
      return;
    }
    if (this.failureText.length >= MOST_BODY_CHARS) return;
    this.failureText += chunk.toString('latin1', begin, Math.min(end, begin + MOST_BODY_CHARS));
  }

  private beginJson(head: string): void {
    const length = JSON_BYTES.exec(head);
    this.json = [];
    this.jsonIsWhole = true;
    this.jsonBytesLeft = length === null ? Number.POSITIVE_INFINITY : Number(length[1]);
    this.keptBytesLeft = this.keptBytes;
  }

  private keepJson(chunk: Buffer, begin: number, end: number): void {
    // A chunk is counted with the line end after its data.
    const dataEnd = this.state === CHUNK_DATA ? Math.min(end, begin + Math.max(0, this.bytesLeft - 2)) : end;
    const bytes = Math.min(dataEnd - begin, this.jsonBytesLeft);
    this.jsonBytesLeft -= bytes;
    this.keptBytesLeft -= bytes;
    if (this.keptBytesLeft < 0) this.forgetJson();
    else if (bytes > 0) this.json.push(Buffer.from(chunk.subarray(begin, begin + bytes)));
  }

  private forgetJson(): void {
    this.jsonIsWhole = false;
    this.json = [];
  }

  private readHead(chunk: Buffer, begin: number): number {
    const { text, at } = this.upTo('\r\n\r\n', chunk, begin);
    if (text !== null) this.takeHead(text);
    return at;
  }

  private takeHead(head: string): void {
    const status = /^HTTP\/1\.([01]) (\d{3})/.exec(head);
    if (status === null) throw new Error('the server does not speak HTTP/1.1');
    this.status = Number(status[2]);
    this.failureText = '';
    if (this.keptBytes > 0) this.beginJson(head);
    const connection = /\r\nconnection:([^\r]*)/i.exec(head)?.[1] ?? '';
    this.closes = status[1] === '1' ? /close/i.test(connection) : !/keep-alive/i.test(connection);
    const length = /\r\ncontent-length:[ \t]*(\d+)/i.exec(head);
    this.bytesLeft = 0;
    if (this.status < 200 || this.status === 204 || this.status === 304) this.state = HEAD;
    else if (/\r\ntransfer-encoding:[^\r]*chunked/i.test(head)) this.state = CHUNK_SIZE;
    else if (length === null) this.state = BODY_TO_END;
    else {
      this.bytesLeft = Number(length[1]);
      this.state = this.bytesLeft === 0 ? HEAD : BODY;
    }
  }

  private readLine(chunk: Buffer, begin: number): number {
    const { text, at } = this.upTo('\r\n', chunk, begin);
    if (text === null) return at;
    if (this.state === TRAILER) {
      if (text === '') this.state = HEAD;
      return at;
    }
    const size = /^[0-9a-f]+/i.exec(text);
    if (size === null) throw new Error('the server sent a malformed chunk');
    const bytes = Number.parseInt(size[0], 16);
    // The line end after the data is counted with it.
    this.bytesLeft = bytes + 2;
    this.state = bytes === 0 ? TRAILER : CHUNK_DATA;
    return at;
  }

  /** Text up to a mark, which may have begun in an earlier piece; null: it has not come yet. */
  private upTo(mark: string, chunk: Buffer, begin: number): { text: string | null; at: number } {
    if (this.partial === '') {
      const found = chunk.indexOf(mark, begin, 'latin1');
      if (found >= 0) return { text: chunk.toString('latin1', begin, found), at: found + mark.length };
    }
    const before = this.partial.length;
    const joined = this.partial + chunk.toString('latin1', begin);
    const found = joined.indexOf(mark);
    if (found < 0) {
      if (joined.length > LONGEST_LINE_BYTES) throw new Error('the server sent an endless header');
      this.partial = joined;
      return { text: null, at: chunk.length };
    }
    this.partial = '';
    return { text: joined.slice(0, found), at: begin + found + mark.length - before };
  }
}
