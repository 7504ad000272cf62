import { Metadata } from '@grpc/grpc-js';
import { PROTOCOL_VERSION } from './protocol.js';

/** How a controller introduces itself, in the headers of its request: see worker.proto. */
export interface Hello {
  readonly version: number;
  /** Empty: none. */
  readonly token: string;
  /** Names the controller: letters, digits and hyphens. */
  readonly controller: string;
  /** Largest message that the controller takes. */
  readonly maxMessageBytes: number;
}

export function helloToHeaders({ token, controller, maxMessageBytes }: Omit<Hello, 'version'>): Metadata {
  const headers = new Metadata();
  headers.set(VERSION, String(PROTOCOL_VERSION));
  if (token !== '') headers.set(TOKEN, Buffer.from(token));
  headers.set(CONTROLLER, controller);
  headers.set(MAX_MESSAGE_BYTES, String(maxMessageBytes));
  return headers;
}

/** Null: these are not the headers of a controller. */
export function helloFromHeaders(headers: Metadata): Hello | null {
  const version = numberOf(headers, VERSION);
  const maxMessageBytes = numberOf(headers, MAX_MESSAGE_BYTES);
  if (version === null || maxMessageBytes === null) return null;
  const controller = headers.get(CONTROLLER)[0]?.toString() ?? '';
  // One of another version has no name, and is to learn what is wrong.
  if (version === PROTOCOL_VERSION && !/^[A-Za-z0-9-]{1,64}$/.test(controller)) return null;
  return { version, token: headers.get(TOKEN)[0]?.toString() ?? '', controller, maxMessageBytes };
}

const VERSION = 'escapement-version';
const TOKEN = 'escapement-token-bin';
const CONTROLLER = 'escapement-controller';
const MAX_MESSAGE_BYTES = 'escapement-max-message-bytes';

function numberOf(headers: Metadata, key: string): number | null {
  const text = headers.get(key)[0]?.toString() ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}
