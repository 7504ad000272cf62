import { Agent, request } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import { INFER } from './grpc-client.js';
import { framed, inferMessage, LEAST_ANSWER_BYTES, sloParameter } from './protobuf.js';
import { HOST } from './sockets.js';
import { SMALL, type Target } from './target.js';

/** One request of the victim. */
export interface Sample {
  /** When it was due, on the clock of performance.now(). */
  readonly dueMs: number;
  readonly latencyMs: number;
  /** Empty: answered, with the whole output. */
  readonly failure: string;
}

/** What no answer takes. */
const PATIENCE_MS = 30_000;

/**
 * A well-behaved client: at a fixed rate, whatever the answers, every other request over gRPC, the rest over HTTP, on
 * few connections that stay open. Latency counts from when a request was due.
 */
export class Victim {
  readonly samples: Sample[] = [];
  private readonly sloMs: number;
  private readonly agent: Agent | TlsAgent;
  private session: ClientHttp2Session | null = null;
  private sent = 0;
  /** Requests without a result yet. */
  private readonly pending = new Set<(failure: string) => void>();
  private startMs = 0;
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly target: Target,
    private readonly rateRps: number,
    sloMs: number,
  ) {
    this.sloMs = sloMs;
    const options = {
      keepAlive: true,
      maxSockets: 64,
      scheduling: 'fifo',
      rejectUnauthorized: false,
    } as const;
    this.agent = target.tls ? new TlsAgent(options) : new Agent(options);
  }

  start(): void {
    this.startMs = performance.now();
    this.timer = setInterval(() => this.sendDue(), 1);
  }

  /** Sends no more, and waits for the answers. */
  async stop(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    const untilMs = performance.now() + PATIENCE_MS;
    while (this.pending.size > 0 && performance.now() < untilMs) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    // Some may have waited for a connection all the time.
    for (const done of this.pending) done('no answer');
    this.agent.destroy();
    this.session?.destroy();
  }

  private sendDue(): void {
    const nowMs = performance.now();
    for (;;) {
      const dueMs = this.startMs + (1000 * this.sent) / this.rateRps;
      if (dueMs > nowMs) return;
      const done = this.recorder(dueMs);
      if (this.sent++ % 2 === 0) this.sendHttp(done);
      else this.sendGrpc(done);
    }
  }

  /** Takes the first result of a request. */
  private recorder(dueMs: number): (failure: string) => void {
    const done = (failure: string): void => {
      if (!this.pending.delete(done)) return;
      this.samples.push({ dueMs, latencyMs: performance.now() - dueMs, failure });
    };
    this.pending.add(done);
    return done;
  }

  private sendHttp(done: (failure: string) => void): void {
    const { target, agent } = this;
    const json = JSON.stringify({
      parameters: { slo_ms: this.sloMs, binary_data_output: true },
      inputs: [
        {
          name: 'input',
          datatype: 'FP32',
          shape: [1, SMALL.elements],
          parameters: { binary_data_size: SMALL.elements * 4 },
        },
      ],
    });
    const body = Buffer.concat([Buffer.from(json), Buffer.alloc(SMALL.elements * 4)]);
    const headers = {
      'content-length': body.length,
      'inference-header-content-length': json.length,
      ...(target.token === null ? {} : { authorization: `Bearer ${target.token}` }),
    };
    const send = target.tls ? requestTls : request;
    const path = `/v2/models/${SMALL.name}/infer`;
    const sent = send({ host: HOST, port: target.http, path, method: 'POST', headers, agent });
    sent.on('error', (error: NodeJS.ErrnoException) => done(`http ${error.code ?? error.message}`));
    sent.setTimeout(PATIENCE_MS, () => {
      done('http no answer');
      sent.destroy();
    });
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        done(problem('http', response.statusCode === 200, response.statusCode, Buffer.concat(chunks))),
      );
      response.on('error', () => done('http cut'));
    });
    sent.end(body);
  }

  private sendGrpc(done: (failure: string) => void): void {
    const { target } = this;
    const stream = this.openSession().request({
      ':method': 'POST',
      ':path': INFER,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...(target.token === null ? {} : { authorization: `Bearer ${target.token}` }),
    });
    const chunks: Buffer[] = [];
    let status: unknown;
    stream.on('response', (headers) => {
      status = headers['grpc-status'];
    });
    stream.on('trailers', (headers) => {
      status = headers['grpc-status'];
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', (error: NodeJS.ErrnoException) => done(`grpc ${error.code ?? error.message}`));
    stream.on('close', () => done(problem('grpc', status === '0', status, Buffer.concat(chunks))));
    stream.setTimeout(PATIENCE_MS, () => {
      done('grpc no answer');
      stream.close();
    });
    stream.end(framed(inferMessage([sloParameter(this.sloMs)])));
  }

  private openSession(): ClientHttp2Session {
    if (this.session === null || this.session.closed || this.session.destroyed) {
      const { tls, grpc } = this.target;
      const session = connect(`${tls ? 'https' : 'http'}://${HOST}:${grpc}`, { rejectUnauthorized: false });
      // Its streams report.
      session.on('error', () => {});
      this.session = session;
    }
    return this.session;
  }
}

function problem(protocol: string, isOk: boolean, status: unknown, body: Buffer): string {
  if (!isOk) return `${protocol} ${status}`;
  return body.length < LEAST_ANSWER_BYTES ? `${protocol} short answer` : '';
}
