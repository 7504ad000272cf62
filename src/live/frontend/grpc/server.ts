import {
  constants,
  createSecureServer,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2';
import type { Socket } from 'node:net';
import { KIB } from '../../../base/units.js';
import type { ServerTls } from '../../wire/credentials.js';
import type { Arrivals } from '../arrivals.js';
import type { Budget } from '../budget.js';
import { gateConnections } from '../connection-gate.js';
import { ReadingTurns } from '../reading-turns.js';
import { asRefusal, Refusal } from '../refusal.js';
import type { RefusalCounts } from '../refusal-counts.js';
import type { CutOff } from '../slow-clients.js';
import type { TokenCheck } from '../token.js';
import type { TurnedAway } from '../turned-away.js';
import type { Bans } from './bans.js';
import { CallTurns } from './call-turns.js';
import { encodingOf } from './compression.js';
import { ConnectionShares, FEW_STREAMS, MAX_STREAMS } from './connection-shares.js';
import { goaway } from './goaway.js';
import { letGo, refuseStream } from './refuse-stream.js';
import { Rpc, type RpcMethod } from './rpc.js';
import { RpcConnection } from './rpc-connection.js';
import { timeoutNs } from './timeout.js';
import { isGivenUp } from './waiting-calls.js';

/** What a server of gRPC works with. */
interface RpcServerParts {
  /** By path: `/package.Service/Method`. */
  readonly methods: ReadonlyMap<string, RpcMethod>;
  readonly token: TokenCheck;
  readonly arrivals: Arrivals;
  readonly budget: Budget;
  readonly refusals: RefusalCounts;
  /** Null: clients share addresses, so none is kept out. */
  readonly bans: Bans | null;
  readonly tls: ServerTls | null;
  /** Time for the first record of a TLS handshake, and as much for the rest. */
  readonly handshakePartMs: number;
  nowNs(): number;
  readonly cutOff: CutOff;
  readonly turnedAway: TurnedAway;
}

/** Time to see to clients that have stopped. */
const LOOK_MS = 1000;
/** At most so often while the loop is busy. */
const BUSY_LOOK_MS = 50;

const SETTINGS = {
  maxConcurrentStreams: MAX_STREAMS,
  // What a client may send of a call before it is read.
  initialWindowSize: 256 * KIB,
  maxHeaderListSize: 16 * KIB,
  enablePush: false,
};
const HTTP2: ServerOptions = {
  settings: SETTINGS,
  maxHeaderListPairs: 128,
  // Floods: frames that make no sense, streams beyond the limit, settings and pings.
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  maxSettings: 32,
  maxOutstandingPings: 10,
  maxDeflateDynamicTableSize: 4 * KIB,
  // Node's own memory for one connection, MB; the bodies of calls do not count.
  maxSessionMemory: 64,
  unknownProtocolTimeout: 10_000,
};

/** gRPC over HTTP/2: its connections and calls, without what the methods mean. Nothing of a call is read before its token. */
export class RpcServer {
  readonly listener: Http2Server;
  private readonly connections = new Set<RpcConnection>();
  private readonly timer: NodeJS.Timeout;
  private readonly turns = new ReadingTurns();
  private readonly callTurns = new CallTurns();
  private isClosing = false;
  /** When connections were looked at last because the loop was busy. */
  private lookedMs = 0;

  constructor(private readonly parts: RpcServerParts) {
    const { tls, handshakePartMs, budget, refusals, arrivals, bans, turnedAway } = parts;
    this.listener =
      tls === null
        ? createServer(HTTP2)
        : createSecureServer({ ...HTTP2, ...tls, allowHTTP1: false, handshakeTimeout: handshakePartMs });
    this.shareOut(tls === null ? 'connection' : 'secureConnection');
    gateConnections(this.listener, {
      ...{ budget, refusals, turnedAway, farewell: tls === null ? goaway : null },
      firstRecordMs: tls === null ? null : handshakePartMs,
      refusalOf: (client) => bans?.refusalOf(client, performance.now()) ?? null,
    });
    arrivals.onBusy = () => this.lookAtBytes();
    this.timer = setInterval(() => this.look(), LOOK_MS);
    this.timer.unref();
    this.listener.on('close', () => clearInterval(this.timer));
  }

  /** Some connections may have fewer calls open. Node takes such a number for all of a server: they get one that does not listen. */
  private shareOut(event: 'connection' | 'secureConnection'): void {
    const { listener } = this;
    const shares = new ConnectionShares(this.parts.budget.limits.clientRequests);
    const few = createServer({ ...HTTP2, settings: { ...SETTINGS, maxConcurrentStreams: FEW_STREAMS } });
    const [take] = listener.listeners(event);
    listener.removeAllListeners(event);
    // Node makes the session of a connection while it takes it.
    let entering: Socket | null = null;
    listener.on(event, (socket: Socket) => {
      const { clientKey } = this.parts.budget.open(socket.remoteAddress);
      // It ends when its turn has come.
      socket.allowHalfOpen = true;
      socket.on('end', () => socket.end());
      entering = socket;
      take.call(shares.take(clientKey, socket) ? listener : few, socket);
      entering = null;
    });
    for (const server of [listener, few]) {
      server.on('session', (session) => this.welcome(session, entering ?? session.socket));
      server.on('stream', (stream, headers) => this.answer(stream, headers));
      server.on('sessionError', () => {});
    }
  }

  /** Lets calls under way be answered, and takes no more. */
  drain(): void {
    this.isClosing = true;
    for (const connection of this.connections) connection.drain();
  }

  destroyAll(): void {
    this.isClosing = true;
    for (const connection of this.connections) connection.destroy();
  }

  private welcome(session: ServerHttp2Session, socket: Socket): void {
    const { budget, bans, refusals, cutOff, turnedAway } = this.parts;
    const { remoteAddress } = socket;
    const account = budget.open(remoteAddress);
    const connection = new RpcConnection({
      ...{ session, socket, account, turns: this.turns, callTurns: this.callTurns },
      flooded: () => {
        refusals.add('flood');
        turnedAway.add('flood', account.clientKey);
        if (bans === null) return;
        bans.add(account.clientKey, performance.now());
        this.callTurns.flooded(account.clientKey);
      },
      cutOff: (why) => cutOff(remoteAddress ?? 'unknown', why),
    });
    this.connections.add(connection);
    session.once('close', () => this.connections.delete(connection));
    if (this.isClosing) connection.drain();
    (session as OwnedSession)[OWNER] = connection;
  }

  private look(): void {
    const nowNs = this.parts.nowNs();
    const nowMs = performance.now();
    for (const connection of this.connections) connection.look(nowNs, nowMs);
    this.parts.bans?.look(nowMs);
  }

  /** The loop was busy: a flood may be why. */
  private lookAtBytes(): void {
    const nowMs = performance.now();
    if (nowMs - this.lookedMs < BUSY_LOOK_MS) return;
    this.lookedMs = nowMs;
    for (const connection of this.connections) connection.lookAtBytes();
  }

  private answer(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const arrivalNs = this.parts.arrivals.stampNs();
    const connection = (stream.session as OwnedSession | undefined)?.[OWNER];
    // The connection may be gone before its streams are.
    if (connection === undefined) {
      stream.close(constants.NGHTTP2_CANCEL);
      return;
    }
    stream.on('error', () => {});
    if (connection.isFlooded) return;
    const nowMs = performance.now();
    connection.called(stream, () => this.begin(stream, headers, connection, arrivalNs, nowMs));
  }

  private begin(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    connection: RpcConnection,
    arrivalNs: number,
    nowMs: number,
  ): void {
    if (connection.isFlooded) return;
    if (isGivenUp(stream)) {
      connection.gaveUp(stream);
      return;
    }
    if (!isGrpc(headers)) {
      if (spend(stream, connection)) refusePlain(stream, headers);
      return;
    }
    let method: RpcMethod | null = null;
    try {
      method = this.methodOf(headers);
      if (!method.isOpen) this.parts.token.admit(headers.authorization);
      const encoding = encodingOf(headers['grpc-encoding'] as string | undefined);
      const timeout = timeoutNs(headers['grpc-timeout'] as string | undefined);
      const rpc = new Rpc(stream, headers, method, connection, encoding, arrivalNs, timeout, nowMs);
      connection.began(rpc);
    } catch (error) {
      const refusal = asRefusal(error);
      method?.refused?.(refusal, false, 0);
      if (spend(stream, connection)) refuseStream(stream, refusal);
    }
  }

  private methodOf(headers: IncomingHttpHeaders): RpcMethod {
    const path = headers[':path'] as string;
    const method = this.parts.methods.get(path);
    if (method !== undefined) return method;
    // Its path may be as long as a header can be.
    throw new Refusal('unimplemented', `unknown method ${path.slice(0, 200)}`);
  }
}

/** Counts a call that is refused by its headers, and what still comes of it; false: it was one too many. */
function spend(stream: ServerHttp2Stream, connection: RpcConnection): boolean {
  if (connection.idle()) return false;
  stream.on('data', ({ length }: Buffer) => connection.came(length));
  return true;
}

const OWNER = Symbol('connection');
type OwnedSession = ServerHttp2Session & { [OWNER]?: RpcConnection };

function isGrpc(headers: IncomingHttpHeaders): boolean {
  const type = headers['content-type'];
  if (headers[':method'] !== 'POST' || type === undefined) return false;
  return (
    type === 'application/grpc' || type === 'application/grpc+proto' || type.startsWith('application/grpc;')
  );
}

/** A client that does not speak gRPC. */
function refusePlain(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  const status = headers[':method'] === 'POST' ? 415 : 405;
  stream.respond({ ':status': status, 'content-type': 'text/plain' });
  stream.end('this port speaks gRPC: POST with content-type application/grpc\n');
  letGo(stream);
}
