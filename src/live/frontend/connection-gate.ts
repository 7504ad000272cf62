import type { Server, Socket } from 'node:net';
import type { Budget } from './budget.js';
import type { Refusal } from './refusal.js';
import type { RefusalCounts } from './refusal-counts.js';

/** How long a connection that is turned away stays, so that its client sees why. */
const LINGER_MS = 1000;
/** Connections that do so at a time; further ones are closed without a word. */
const MOST_LINGERING = 100;

/** Who watches over the connections of a server. */
interface GateOptions {
  readonly budget: Budget;
  readonly refusals: RefusalCounts;
  /** Why a client may not come in now, whatever room there is; null: it may. */
  readonly refusalOf?: (client: string) => Refusal | null;
  /** Says to a client why it is turned away, as bytes of its protocol; null: it expects TLS, and is not worth that. */
  readonly farewell: ((refusal: Refusal) => string | Uint8Array) | null;
}

/** Lets in as many connections as there may be. Call it before other listeners of connections are added. */
export function gateConnections(server: Server, options: GateOptions): void {
  const { budget, refusals, refusalOf, farewell } = options;
  const accept = server.listeners('connection');
  let lingering = 0;
  const turnAway = (socket: Socket, refusal: Refusal) => {
    refusals.add(refusal.kind);
    socket.on('error', () => {});
    if (farewell === null || lingering >= MOST_LINGERING) {
      socket.destroy();
      return;
    }
    lingering++;
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => {
      clearTimeout(timer);
      lingering--;
    });
    // A connection that is closed with bytes unread is reset, and its client may not see what was written.
    socket.resume();
    socket.end(farewell(refusal));
  };
  server.removeAllListeners('connection');
  server.on('connection', (socket) => {
    const account = budget.open(socket.remoteAddress);
    const refusal = refusalOf?.(account.clientKey) ?? account.enter();
    if (refusal !== null) {
      turnAway(socket, refusal);
      return;
    }
    socket.once('close', () => account.leave());
    for (const listener of accept) listener.call(server, socket);
  });
}
