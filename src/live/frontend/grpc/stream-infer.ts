import type { ServedModel } from '../../model.js';
import type { Call, RequestQuota } from '../call.js';
import { asRefusal, type Refusal } from '../refusal.js';
import type { RefusalCounts } from '../refusal-counts.js';
import type { GrpcInfer, InferSink } from './infer.js';
import { InferMessage } from './infer-message.js';
import { framed, inferResponse, streamRefusal } from './infer-response.js';
import type { WantedOutput } from './infer-tensors.js';
import type { Rpc, RpcMethod } from './rpc.js';

/** Requests of one stream that are under way at a time; the client's next ones wait. */
const MAX_IN_FLIGHT = 16;

/**
 * ModelStreamInfer: one response for each request, in their order. A request that fails is answered in `error_message`,
 * and the stream goes on.
 */
export class StreamInfer implements RpcMethod {
  readonly isOpen = false;
  readonly isStream = true;
  private readonly streams = new WeakMap<Rpc, Exchanges>();

  constructor(
    private readonly infer: GrpcInfer,
    readonly maxMessageBytes: number,
  ) {}

  message(rpc: Rpc, bytes: Uint8Array<ArrayBuffer>): void {
    this.of(rpc).add(this.infer, bytes);
  }

  /** The stream itself: its next request could not be read. Its end in time refuses no request. */
  refused({ kind }: Refusal): void {
    if (kind !== 'timeout') this.infer.refusals.add(kind);
  }

  ended(rpc: Rpc): void {
    this.of(rpc).end();
  }

  private of(rpc: Rpc): Exchanges {
    let exchanges = this.streams.get(rpc);
    if (exchanges === undefined) {
      exchanges = new Exchanges(rpc);
      this.streams.set(rpc, exchanges);
    }
    return exchanges;
  }
}

/** The requests of one stream that have no answer yet. */
class Exchanges {
  private readonly waiting: Exchange[] = [];
  private hasEnded = false;

  constructor(private readonly rpc: Rpc) {}

  add(infer: GrpcInfer, bytes: Uint8Array<ArrayBuffer>): void {
    const { rpc } = this;
    // The first one of a stream came with its headers, later ones now.
    const origin = new StreamedOrigin(rpc, infer.nowNs());
    const exchange = new Exchange(this, bytes.length, origin, infer.refusals);
    this.waiting.push(exchange);
    if (this.waiting.length >= MAX_IN_FLIGHT) rpc.pause();
    try {
      const message = new InferMessage(bytes);
      exchange.id = message.id;
      infer.start(message, origin, exchange);
    } catch (error) {
      exchange.refused(asRefusal(error));
    }
  }

  end(): void {
    this.hasEnded = true;
    this.flush();
  }

  /** Sends what is ready, in order. */
  flush(): void {
    const { rpc, waiting } = this;
    while (waiting.length > 0) {
      const { response, bytes } = waiting[0];
      if (response === null) return;
      waiting.shift();
      rpc.send(response);
      rpc.release(bytes);
      if (waiting.length === MAX_IN_FLIGHT - 1) rpc.resume();
    }
    if (this.hasEnded) rpc.finish();
  }
}

/** One request of a stream. */
class Exchange implements InferSink {
  id = '';
  response: readonly Uint8Array[] | null = null;

  constructor(
    private readonly exchanges: Exchanges,
    /** Of its message. */
    readonly bytes: number,
    private readonly origin: StreamedOrigin,
    private readonly refusals: RefusalCounts,
  ) {}

  answered(call: Call, model: ServedModel, outputs: readonly WantedOutput[]): void {
    try {
      this.response = inferResponse(call, model, this.id, outputs, true);
    } catch (error) {
      this.refused(asRefusal(error));
      return;
    }
    this.exchanges.flush();
  }

  refused({ kind, message }: Refusal): void {
    if (!this.origin.isAsked && !this.origin.isGone) this.refusals.add(kind, this.origin.label);
    this.response = [framed(streamRefusal(message, this.id))];
    this.exchanges.flush();
  }
}

/** Where a request of a stream comes from: it arrives with its message. */
class StreamedOrigin {
  isAsked = false;
  label = 0;
  readonly timeoutNs: number;

  constructor(
    private readonly rpc: Rpc,
    readonly arrivalNs: number,
  ) {
    this.timeoutNs = rpc.arrivalNs + rpc.timeoutNs - arrivalNs;
  }

  get trace(): string | null {
    return this.rpc.trace;
  }

  get headers(): Rpc['headers'] {
    return this.rpc.headers;
  }

  get clientKey(): string {
    return this.rpc.clientKey;
  }

  get quota(): RequestQuota {
    return this.rpc.quota;
  }

  get isGone(): boolean {
    return this.rpc.isGone;
  }

  asked(): void {
    this.isAsked = true;
    this.rpc.asked();
  }

  hold(bytes: number): void {
    this.rpc.hold(bytes);
  }
}
