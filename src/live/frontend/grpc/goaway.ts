import { constants } from 'node:http2';
import type { Refusal } from '../refusal.js';

const SETTINGS = 4;
const GOAWAY = 7;
const HEADER_BYTES = 9;

/** All that a server says on an HTTP/2 connection that it does not take: its settings, and why it goes. */
export function goaway({ message }: Refusal): Uint8Array {
  const reason = Buffer.from(message);
  const length = 8 + reason.length;
  const bytes = Buffer.alloc(HEADER_BYTES + HEADER_BYTES + length);
  bytes[3] = SETTINGS;
  bytes.writeUIntBE(length, HEADER_BYTES, 3);
  bytes[HEADER_BYTES + 3] = GOAWAY;
  // No stream was looked at, so a client may send its calls again elsewhere.
  bytes.writeUInt32BE(constants.NGHTTP2_ENHANCE_YOUR_CALM, 2 * HEADER_BYTES + 4);
  reason.copy(bytes, 2 * HEADER_BYTES + 8);
  return bytes;
}
