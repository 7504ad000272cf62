import { Metadata, status } from '@grpc/grpc-js';
import { tokensMatch } from './credentials.js';
import { PROTOCOL_VERSION } from './protocol.js';

/** Credentials of either side, in the headers of its request. */
interface Access {
  readonly version: number;
  /** Empty: none. */
  readonly token: string;
}

/** Introduction of a controller to a worker. */
interface Hello extends Access {
  /** Name of the controller: letters, digits and hyphens. */
  readonly controller: string;
  /** Largest message that the controller accepts. */
  readonly maxMessageBytes: number;
}

export function accessToHeaders(token: string): Metadata {
  const headers = new Metadata();
  headers.set(VERSION, String(PROTOCOL_VERSION));
  if (token !== '') headers.set(TOKEN, Buffer.from(token));
  return headers;
}

/** Null: not headers of the protocol. */
export function accessFromHeaders(headers: Metadata): Access | null {
  const version = numberOf(headers, VERSION);
  return version === null ? null : { version, token: headers.get(TOKEN)[0]?.toString() ?? '' };
}

export function helloToHeaders({ token, controller, maxMessageBytes }: Omit<Hello, 'version'>): Metadata {
  const headers = accessToHeaders(token);
  headers.set(CONTROLLER, controller);
  headers.set(MAX_MESSAGE_BYTES, String(maxMessageBytes));
  return headers;
}

/** Null: not headers of a controller. */
export function helloFromHeaders(headers: Metadata): Hello | null {
  const access = accessFromHeaders(headers);
  const maxMessageBytes = numberOf(headers, MAX_MESSAGE_BYTES);
  if (access === null || maxMessageBytes === null) return null;
  const controller = headers.get(CONTROLLER)[0]?.toString() ?? '';
  // A peer of another version has no name, and must still learn what is wrong.
  if (access.version === PROTOCOL_VERSION && !/^[A-Za-z0-9-]{1,64}$/.test(controller)) return null;
  return { ...access, controller, maxMessageBytes };
}

/** Status and reason of a refused call. */
export interface CallError {
  readonly code: status;
  readonly details: string;
}

/** Null: accepted. `peer` and `self`: names of the two sides. */
export function callErrorOf(
  access: Access | null,
  token: string,
  peer: 'controller' | 'worker',
  self: 'controller' | 'worker',
): CallError | null {
  const code = status.FAILED_PRECONDITION;
  if (access === null) return { code, details: `its headers are not those of a ${peer}` };
  const { version } = access;
  if (version !== PROTOCOL_VERSION) {
    const what = `the ${peer} speaks version ${version} of the protocol, this ${self} ${PROTOCOL_VERSION}`;
    return { code, details: `${what}: install the same escapement on both` };
  }
  if (token === '' || tokensMatch(access.token, token)) return null;
  return {
    code: status.UNAUTHENTICATED,
    details: `the token is not the one that this ${self} asks for`,
  };
}

const VERSION = 'escapement-version';
const TOKEN = 'escapement-token-bin';
const CONTROLLER = 'escapement-controller';
const MAX_MESSAGE_BYTES = 'escapement-max-message-bytes';

function numberOf(headers: Metadata, key: string): number | null {
  const text = headers.get(key)[0]?.toString() ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}
