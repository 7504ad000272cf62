import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import type { Place } from './http-asker.js';
import { framed, inferReply, inferRequest, streamReply, unframed } from './protocol-bytes.js';
import type { Asker, Question, Reply } from './tally.js';

const SERVICE = '/inference.GRPCInferenceService';

/** A connection over HTTP/2, made again when it has broken. */
class Channel {
  private session: ClientHttp2Session | null = null;
  private isOpen = false;

  constructor(private readonly place: Place) {}

  /** What a call that was cut off counts as. */
  get cutOff(): Reply {
    return { kind: this.isOpen ? 'broken' : 'refused' };
  }

  call(method: string): ClientHttp2Stream {
    this.session ??= this.connect();
    const call = this.session.request({
      ':method': 'POST',
      ':path': `${SERVICE}/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    call.on('error', () => {});
    return call;
  }

  close(): void {
    this.session?.destroy();
  }

  private connect(): ClientHttp2Session {
    const { port, ca } = this.place;
    const session =
      ca === null
        ? connect(`http://127.0.0.1:${port()}`)
        : connect(`https://127.0.0.1:${port()}`, { ca, servername: 'localhost' });
    this.isOpen = false;
    session.on('connect', () => {
      this.isOpen = true;
    });
    session.on('error', () => {});
    const gone = () => {
      if (this.session === session) this.session = null;
    };
    session.on('goaway', gone);
    session.on('close', gone);
    return session;
  }
}

/** Asks with ModelInfer, a call per question. */
export class GrpcAsker implements Asker {
  private readonly channel: Channel;

  constructor(
    place: Place,
    private readonly doubled: (what: string) => void,
  ) {
    this.channel = new Channel(place);
  }

  ask(question: Question): Promise<Reply> {
    return new Promise((resolve) => {
      const call = this.channel.call('ModelInfer');
      let received = Buffer.alloc(0);
      let status = '';
      let said = '';
      const end = (headers: { readonly [name: string]: unknown }) => {
        status = String(headers['grpc-status'] ?? status);
        said = decodeURIComponent(String(headers['grpc-message'] ?? said));
      };
      call.on('response', end).on('trailers', end);
      call.on('data', (bytes: Buffer) => {
        received = Buffer.concat([received, bytes]);
      });
      call.on('close', () => {
        const { messages } = unframed(received);
        if (messages.length > 1) this.doubled(`${question.id} got ${messages.length} messages`);
        if (status === '') resolve(this.channel.cutOff);
        else if (status !== '0') resolve({ kind: 'failure', said: `${status} ${said}` });
        else if (messages.length === 0) resolve({ kind: 'failure', said: 'OK without a message' });
        else resolve(inferReply(messages[0]));
      });
      call.end(framed(inferRequest(question)));
    });
  }

  close(): void {
    this.channel.close();
  }
}

/** Asks with ModelStreamInfer: all questions go through one stream. */
export class StreamAsker implements Asker {
  private readonly channel: Channel;
  private stream: ClientHttp2Stream | null = null;
  private waiting = new Map<string, (reply: Reply) => void>();

  constructor(
    place: Place,
    private readonly doubled: (what: string) => void,
  ) {
    this.channel = new Channel(place);
  }

  ask(question: Question): Promise<Reply> {
    return new Promise((resolve) => {
      this.stream ??= this.open();
      this.waiting.set(question.id, resolve);
      this.stream.write(framed(inferRequest(question)));
    });
  }

  close(): void {
    this.stream?.destroy();
    this.channel.close();
  }

  private open(): ClientHttp2Stream {
    const stream = this.channel.call('ModelStreamInfer');
    const waiting = new Map<string, (reply: Reply) => void>();
    this.waiting = waiting;
    let received = Buffer.alloc(0);
    stream.on('data', (bytes: Buffer) => {
      const { messages, rest } = unframed(Buffer.concat([received, bytes]));
      received = Buffer.from(rest);
      for (const message of messages) {
        const { id, reply } = streamReply(message);
        const resolve = waiting.get(id);
        waiting.delete(id);
        if (resolve === undefined) this.doubled(`the stream answers ${id} again: ${JSON.stringify(reply)}`);
        else resolve(reply);
      }
    });
    stream.on('close', () => {
      if (this.stream === stream) this.stream = null;
      for (const resolve of waiting.values()) resolve(this.channel.cutOff);
      waiting.clear();
    });
    return stream;
  }
}
