import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { REFUSALS, type Refusal } from './refusal.js';

/** How long a client that has sent something wrong is still listened to, so that it sees the answer. */
const LINGER_MS = 1000;

/** Answers what cannot be read as a request, or ends HTTP on its connection, and ends the connection. */
export function refuseLast(socket: Socket, refusal: Refusal): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(refusalText(refusal));
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
}

/** A whole answer, after which the connection ends. */
export function refusalText({ kind, message }: Refusal): string {
  const { http } = REFUSALS[kind];
  const text = JSON.stringify({ error: message });
  const length = Buffer.byteLength(text);
  return `HTTP/1.1 ${http} ${STATUS_CODES[http]}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${text}`;
}

/** The client of a CONNECT, whose socket Node gives away with its listeners. Nothing more of it is read as HTTP. */
export function takeOver(socket: Socket): void {
  socket.on('error', () => socket.destroy());
  // The gate of connections calls Node's, which Node has not found to take it off. Its parser is another connection's soon.
  socket.removeAllListeners('end');
  socket.resume();
}
