import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Asker, Question, Reply } from './tally.js';

/** Rows of more numbers are sent as binary data. */
const MOST_JSON_NUMBERS = 16;

export interface Place {
  /** Now: a server that was started again may be elsewhere. */
  readonly port: () => number;
  /** Whose certificates are believed; null: no encryption. */
  readonly ca: Buffer | null;
}

/** One connection that speaks HTTP/1.1 by hand, and so sees bytes that it did not ask for. */
export class HttpAsker implements Asker {
  private socket: Socket | null = null;
  private received: Buffer = Buffer.alloc(0);
  private waiting: ((reply: Reply) => void) | null = null;

  constructor(
    private readonly place: Place,
    private readonly doubled: (what: string) => void,
  ) {}

  ask(question: Question): Promise<Reply> {
    return new Promise((resolve) => {
      this.waiting = resolve;
      this.socket ??= this.connect();
      this.socket.write(encode(question));
    });
  }

  close(): void {
    this.socket?.destroy();
  }

  private connect(): Socket {
    const { ca } = this.place;
    const to = { host: '127.0.0.1', port: this.place.port() };
    let isOpen = false;
    const opened = () => {
      isOpen = true;
    };
    const socket =
      ca === null ? connect(to, opened) : connectTls({ ...to, ca, servername: 'localhost' }, opened);
    this.received = Buffer.alloc(0);
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('data', (bytes: Buffer) => {
      if (this.socket === socket) this.read(bytes);
    });
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      if (this.socket !== socket) return;
      this.socket = null;
      this.reply({ kind: isOpen ? 'broken' : 'refused' });
    });
    return socket;
  }

  private read(bytes: Buffer): void {
    this.received = Buffer.concat([this.received, bytes]);
    const end = this.received.indexOf('\r\n\r\n');
    if (end < 0) return;
    const [statusLine, ...lines] = this.received.toString('latin1', 0, end).split('\r\n');
    const headers = new Map(
      lines.map((line) => {
        const at = line.indexOf(':');
        return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
      }),
    );
    const length = Number(headers.get('content-length') ?? Number.NaN);
    const begin = end + 4;
    if (Number.isNaN(length)) throw new Error(`an answer without a length: ${statusLine}`);
    if (this.received.length < begin + length) return;
    const body = this.received.subarray(begin, begin + length);
    this.received = this.received.subarray(begin + length);
    const { waiting } = this;
    if (waiting === null) this.doubled(`${statusLine} ${body.toString('utf8', 0, 200)}`);
    if (this.received.length > 0) this.doubled(`${this.received.toString('utf8', 0, 200)}`);
    if (headers.get('connection') === 'close') {
      this.socket?.destroy();
      this.socket = null;
    }
    const code = Number(statusLine.split(' ')[1]);
    if (code !== 200) this.reply({ kind: 'failure', said: `${code} ${body.toString('utf8', 0, 300)}` });
    else this.reply(decode(body, Number(headers.get('inference-header-content-length') ?? body.length)));
  }

  private reply(reply: Reply): void {
    const { waiting } = this;
    this.waiting = null;
    waiting?.(reply);
  }
}

function encode({ id, model, values, sloMs }: Question): Buffer {
  const isBinary = values.length > MOST_JSON_NUMBERS;
  const input = { name: 'input', datatype: 'FP32', shape: [1, values.length] };
  const json = Buffer.from(
    JSON.stringify({
      id,
      inputs: [
        isBinary
          ? { ...input, parameters: { binary_data_size: values.byteLength } }
          : { ...input, data: [...values] },
      ],
      parameters: { slo_ms: sloMs, binary_data_output: isBinary },
    }),
  );
  const body = isBinary ? Buffer.concat([json, Buffer.from(values.buffer)]) : json;
  const head = [
    `POST /v2/models/${model}/infer HTTP/1.1`,
    'host: localhost',
    `content-length: ${body.length}`,
    ...(isBinary ? [`inference-header-content-length: ${json.length}`] : []),
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
}

function decode(body: Buffer, jsonBytes: number): Reply {
  const { id, outputs } = JSON.parse(body.toString('utf8', 0, jsonBytes));
  const data = outputs?.[0]?.data;
  if (Array.isArray(data)) return { kind: 'answer', id, values: data.flat() };
  const binary = Uint8Array.from(body.subarray(jsonBytes));
  return { kind: 'answer', id, values: [...new Float32Array(binary.buffer)] };
}
