import { KIB, MIB } from '../../base/units.js';
import type { FrontendRequest } from './http-request.js';

/** How much of a body is read and dropped after its request was refused. */
const MOST_BYTES = 256 * MIB;
/** Chunks of a byte cost about as much time as large ones, so few of them are read. */
const TINY_BYTES = KIB;
const MOST_TINY = 100;
/** How long, in all and in silence. On a busy machine some clients take ten seconds to send what may be read. */
const MOST_MS = 30_000;
const SILENT_MS = 1000;

/**
 * Ends a response that was written before the body came, when the client has stopped to send. Many clients send all
 * before they read: had the connection ended with the answer, they would see a broken pipe instead.
 */
export function linger(request: FrontendRequest): void {
  const { response } = request;
  let left = MOST_BYTES;
  const end = () => {
    clearTimeout(most);
    clearTimeout(silent);
    response.end();
  };
  const most = setTimeout(end, MOST_MS);
  const silent = setTimeout(end, SILENT_MS);
  request.on('data', (piece: Buffer) => {
    left -= piece.length < TINY_BYTES ? MOST_BYTES / MOST_TINY : piece.length;
    if (left <= 0) end();
    else {
      silent.refresh();
      request.site.turns.read(request, piece.length);
    }
  });
  request.once('end', end);
  request.once('close', end);
  request.resume();
}
