import { constants, type ServerHttp2Session } from 'node:http2';
import type { Budget } from '../budget.js';
import type { RequestQuota } from '../call.js';
import { Slots } from '../slots.js';
import type { Rpc, RpcOwner } from './rpc.js';

/** How long a client may take to say that it speaks HTTP/2. */
const SILENT_MS = 10_000;
/** A connection without calls is asked after this time whether it is still there, and has so long to answer. */
const KEEPALIVE_MS = 60_000;
const KEEPALIVE_TIMEOUT_MS = 20_000;
/** Pings and settings of a client from one look to the next. Honest clients send one in seconds. */
const MAX_CONTROL_FRAMES = 50;

/** One connection of a gRPC client: its calls, and what keeps it from harm. */
export class RpcConnection implements RpcOwner {
  private readonly calls = new Slots<Rpc>();
  private hasSpoken = false;
  private readonly openedMs = performance.now();
  /** When something of it was last heard. */
  private heardMs = this.openedMs;
  private pingedMs = 0;
  private controlFrames = 0;

  private readonly account: ReturnType<Budget['open']>;

  constructor(
    private readonly session: ServerHttp2Session,
    budget: Budget,
  ) {
    this.account = budget.open(session.socket?.remoteAddress);
    session.on('remoteSettings', () => {
      this.hasSpoken = true;
      this.controlFrame();
    });
    session.on('ping', () => this.controlFrame());
    session.on('error', () => {});
  }

  began(rpc: Rpc): void {
    rpc.place = this.calls.add(rpc);
    this.heardMs = performance.now();
  }

  done(rpc: Rpc): void {
    this.calls.take(rpc.place);
  }

  get clientKey(): string {
    return this.account.clientKey;
  }

  get quota(): RequestQuota {
    return this.account;
  }

  take(bytes: number): void {
    const refusal = this.account.take(bytes);
    if (refusal !== null) throw refusal;
  }

  giveBack(bytes: number): void {
    this.account.giveBack(bytes);
  }

  look(nowNs: number, nowMs: number): void {
    this.controlFrames = 0;
    for (const rpc of this.calls) rpc.look(nowNs, nowMs);
    if (!this.hasSpoken && nowMs - this.openedMs > SILENT_MS) this.destroy();
    else this.keepAlive(nowMs);
  }

  drain(): void {
    if (!this.hasSpoken) this.destroy();
    else if (!this.session.closed) this.session.close();
  }

  destroy(): void {
    this.session.destroy();
  }

  /** A client that does not answer a ping in time has gone without a word. */
  private keepAlive(nowMs: number): void {
    const { session } = this;
    if (session.destroyed || session.closed) return;
    if (this.pingedMs > 0) {
      if (nowMs - this.pingedMs > KEEPALIVE_TIMEOUT_MS) this.destroy();
    } else if (nowMs - this.heardMs > KEEPALIVE_MS) {
      this.pingedMs = nowMs;
      session.ping(() => {
        this.pingedMs = 0;
        this.heardMs = performance.now();
      });
    }
  }

  private controlFrame(): void {
    this.controlFrames++;
    if (this.controlFrames !== MAX_CONTROL_FRAMES) return;
    this.session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.destroy();
  }
}
