import { IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { NS_PER_MS } from '../../base/units.js';
import type { ModelEntry } from '../service.js';
import { BodyCollector } from './body-collector.js';
import type { Account } from './budget.js';
import type { RequestQuota } from './call.js';
import type { HttpSite } from './http-site.js';
import type { OpenRequest } from './open-request.js';
import type { Refusal } from './refusal.js';

/** Takes the body of a request, once it is all there; or why it will not come. */
export interface BodyReader {
  /** Largest body that it takes, if the server allows as much. */
  readonly limitBytes: number;
  read(request: FrontendRequest, body: Buffer): void;
  refuse(request: FrontendRequest, refusal: Refusal): void;
}

export type FrontendResponse = ServerResponse<FrontendRequest>;

/**
 * Node's parser of a connection knows for how long it has been at the present message, ms, which Node needs for timeouts
 * of its own and does not document. Without it a request counts as having come with the last of its headers.
 */
interface ParsedSocket extends Socket {
  readonly parser?: { readonly duration?: () => number } | null;
}

/**
 * A request that collects its body without a closure or promise of its own: at tens of thousands a second they
 * would cost more than all the rest.
 */
export class FrontendRequest extends IncomingMessage implements OpenRequest {
  /** Set before anything else is done with it. */
  response!: FrontendResponse;
  site!: HttpSite;
  private account!: Account;
  /** The model that the path of an infer request names. */
  entry: ModelEntry | null = null;
  /** The service has it, and counts what becomes of it. */
  isAsked = false;
  /** How long its client took to send the headers. */
  readonly headersNs: number;
  /** When it began to come, on the service's clock. */
  arrivalNs = 0;
  /** Its client waits for a word before it sends the body. */
  asksFirst = false;
  private reader: BodyReader | null = null;
  /** Among the requests whose body comes; −1: it is none of them. */
  private place = -1;
  private body: BodyCollector | null = null;
  /** Of its body, also what was dropped after a refusal. */
  readBytes = 0;
  /** In which Node gave its body, about. */
  pieces = 0;
  /** Of its connection's account. */
  private heldBytes = 0;

  constructor(socket: Socket) {
    super(socket);
    // Node makes requests when their headers are complete.
    const { parser } = socket as ParsedSocket;
    this.headersNs = Math.round((parser?.duration?.() ?? 0) * NS_PER_MS);
  }

  begin(site: HttpSite, response: FrontendResponse, arrivalNs: number): void {
    this.site = site;
    this.response = response;
    this.arrivalNs = arrivalNs;
    this.account = site.accountOf(this.socket);
  }

  /** Whose turn it takes in queues. */
  get clientKey(): string {
    return this.account.clientKey;
  }

  get quota(): RequestQuota {
    return this.account;
  }

  /** Without what follows `?`; also of an absolute address, which clients send to what they take for a proxy. */
  get path(): string {
    const url = this.url as string;
    const query = url.indexOf('?');
    const path = query < 0 ? url : url.slice(0, query);
    if (path.startsWith('/')) return path;
    const host = path.indexOf('://');
    if (host < 0) return path;
    const from = path.indexOf('/', host + 3);
    return from < 0 ? '/' : path.slice(from);
  }

  /** Bytes that its `content-length` announces; −1: there is none. */
  get announcedBytes(): number {
    const { 'content-length': length } = this.headers;
    if (length !== undefined) return Number(length);
    return this.headers['transfer-encoding'] === undefined ? 0 : -1;
  }

  /** Its body comes in chunks. */
  get isChunked(): boolean {
    return this.headers['transfer-encoding'] !== undefined;
  }

  /** Bytes of the body so far. */
  get receivedBytes(): number {
    return this.body === null ? 0 : this.body.bytes;
  }

  /** Exactly one of the reader's methods is called later, unless the client goes away before. */
  collect(reader: BodyReader, limitBytes: number): void {
    this.reader = reader;
    this.body = new BodyCollector(limitBytes, this.announcedBytes);
    this.place = this.site.slow.receiving.add(this);
    this.on('data', this.receive);
    this.on('end', this.finish);
  }

  override push(piece: unknown, encoding?: BufferEncoding): boolean {
    this.pieces++;
    return super.push(piece, encoding);
  }

  /** Stops to collect; the reader refuses the request. */
  turnAway(refusal: Refusal): void {
    this.isReceived();
    this.off('data', this.receive);
    this.off('end', this.finish);
    this.pause();
    this.body?.discard();
    this.body = null;
    this.reader?.refuse(this, refusal);
  }

  /** Makes what it holds of the memory budget `bytes`; null, or why it cannot. Lasts until `release`. */
  hold(bytes: number): Refusal | null {
    const refusal = this.account.change(this.heldBytes, bytes);
    if (refusal === null) this.heldBytes = bytes;
    return refusal;
  }

  /** Gives all memory back. */
  release(): void {
    this.body?.discard();
    this.body = null;
    this.account.change(this.heldBytes, 0);
    this.heldBytes = 0;
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.complete && this.body !== null) {
      this.isReceived();
      this.release();
    }
    super._destroy(error, callback);
  }

  private isReceived(): void {
    if (this.place >= 0) this.site.slow.receiving.take(this.place);
    this.place = -1;
  }

  private receive(piece: Buffer): void {
    // Once it is taken, nothing is left of it.
    const { length } = piece;
    const refusal = (this.body as BodyCollector).add(piece, this);
    if (refusal !== null) this.turnAway(refusal);
    else this.site.turns.read(this, length);
  }

  private finish(): void {
    const { body, reader } = this;
    this.isReceived();
    this.body = null;
    reader?.read(this, (body as BodyCollector).finish());
  }
}
