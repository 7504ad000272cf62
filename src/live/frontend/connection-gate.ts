import type { Server, Socket } from 'node:net';
import type { Budget } from './budget.js';
import type { Refusal } from './refusal.js';
import type { RefusalCounts } from './refusal-counts.js';
import { RequestTurns } from './request-turns.js';
import type { TurnedAway } from './turned-away.js';

/** How long a connection that is turned away stays, so that its client sees why. */
const LINGER_MS = 1000;
/** Connections that wait or linger at a time; further ones are closed without a word. */
const MOST_LINGERING = 100;

/** Who watches over the connections of a server. */
interface GateOptions {
  readonly budget: Budget;
  readonly refusals: RefusalCounts;
  readonly turnedAway: TurnedAway;
  /** Says to a client why it is turned away, as bytes of its protocol; null: it expects TLS, and is not worth that. */
  readonly farewell: ((refusal: Refusal) => string | Uint8Array) | null;
  /** The server speaks TLS, and the first record of a handshake must be there within this; null: it does not. */
  readonly firstRecordMs: number | null;
}

/** Lets in as many connections as there may be. Call it before other listeners of connections are added. */
export function gateConnections(server: Server, options: GateOptions): void {
  const { budget, refusals, turnedAway, farewell, firstRecordMs } = options;
  const accept = server.listeners('connection');
  const ends = new RequestTurns();
  let lingering = 0;
  const turnAway = (socket: Socket, refusal: Refusal) => {
    refusals.add(refusal.kind);
    socket.on('error', () => {});
    const hang = () => socket.destroy();
    if (lingering >= MOST_LINGERING || farewell === null) {
      hang();
      return;
    }
    lingering++;
    const end = setTimeout(hang, LINGER_MS);
    socket.once('close', () => {
      clearTimeout(end);
      lingering--;
    });
    // A connection that is closed with bytes unread is reset, and its client may not see what was written.
    socket.resume();
    socket.end(farewell(refusal));
  };
  server.removeAllListeners('connection');
  server.on('connection', (socket) => {
    const account = budget.open(socket.remoteAddress);
    const refusal = account.enter();
    if (refusal !== null) {
      turnedAway.add('tooManyConnections', account.clientKey);
      turnAway(socket, refusal);
      return;
    }
    socket.once('close', () => account.leave());
    const enter = () => {
      for (const listener of accept) listener.call(server, socket);
      if (firstRecordMs === null) endInTurn(socket, account.clientKey, ends);
    };
    if (firstRecordMs === null) enter();
    else afterFirstRecord(socket, firstRecordMs, enter);
  });
}

/**
 * A silent connection ends in its turn: a process that ends may hang up thousands at once, and each takes about as long as a
 * request.
 */
function endInTurn(socket: Socket, clientKey: string, turns: RequestTurns): void {
  const listeners = socket.listeners('end');
  socket.removeAllListeners('end');
  const proceed = () => {
    // Node's listener works with the parser, which another connection has once this one is closed.
    if (!socket.destroyed) for (const listener of listeners) listener.call(socket);
    return 1;
  };
  socket.on('end', () => {
    if (socket.bytesRead > 0) proceed();
    else turns.push({ clientKey, proceed });
  });
}

/**
 * TLS costs a connection far more than its socket: a client gets none of it before the first record of its handshake is there,
 * which stays in the socket, where TLS finds it.
 */
function afterFirstRecord(socket: Socket, timeoutMs: number, enter: () => void): void {
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  const hangUp = () => socket.destroy();
  let recordBytes = 0;
  const look = () => {
    if (recordBytes === 0) recordBytes = recordLength(socket);
    if (recordBytes === 0 || socket.readableLength < recordBytes) return;
    socket.off('readable', look);
    socket.off('end', hangUp);
    socket.off('error', hangUp);
    clearTimeout(timer);
    enter();
  };
  socket.on('error', hangUp);
  socket.on('end', hangUp);
  socket.once('close', () => clearTimeout(timer));
  socket.on('readable', look);
}

/** Of what comes first, as far as it is waited for; 0: that cannot be said yet. What is no handshake is left to TLS. */
function recordLength(socket: Socket): number {
  if (socket.readableLength < RECORD_HEADER_BYTES) return 0;
  const header: Buffer = socket.read(RECORD_HEADER_BYTES);
  socket.unshift(header);
  if (header[0] !== HANDSHAKE) return RECORD_HEADER_BYTES;
  return Math.min(RECORD_HEADER_BYTES + header.readUInt16BE(3), socket.readableHighWaterMark);
}

/** Of TLS: type, version and length (RFC 8446, section 5.1). */
const RECORD_HEADER_BYTES = 5;
const HANDSHAKE = 22;
