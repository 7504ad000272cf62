import type { AddressInfo, ListenOptions, Server } from 'node:net';
import { createSecureContext, Server as TlsServer } from 'node:tls';
import { EscapementError } from '../../base/errors.js';
import { MIB } from '../../base/units.js';
import { formatAddress } from '../wire/address.js';
import type { ServerTls } from '../wire/credentials.js';
import { DEFAULT_CLIENT_REQUESTS, DEFAULT_CONNECTIONS, defaultInflightBytes } from './budget.js';
import type { PriorityClass } from './priority.js';
import type { BudgetSlot } from './shared-counts.js';
import type { TenantHeader } from './tenant-names.js';

/** One transport of the Open Inference Protocol, listening. */
export interface Frontend {
  readonly port: number;
  /**
   * Takes no new connection. `graceful`: requests under way, and those that come within a moment, are answered first,
   * for at most ten seconds; otherwise they are cut off. Resolves when no connection is left.
   */
  close(graceful: boolean): Promise<void>;
  /** Connections that come later get this certificate, if it encrypts at all. */
  renew(tls: ServerTls): void;
}

/** Plain data: it crosses threads. */
export interface FrontendOptions {
  /** 0: any free port. */
  readonly port: number;
  /** SLO of requests that carry none, for models that have none, ns. */
  readonly defaultSloNs: number;
  /** What the protocol's `priority` may mean. Default: nothing. */
  readonly classes?: readonly PriorityClass[];
  /** How clients name their tenant. Default: they don't. */
  readonly tenants?: TenantHeader;
  /** What the server says of itself. */
  readonly serverVersion: string;
  /** Address to bind. */
  readonly host?: string;
  /** Clients must show it as a bearer token, except to ask for the server's health. */
  readonly token?: string | null;
  readonly tls?: ServerTls | null;
  /** A connection that has not made its TLS handshake by then is closed. */
  readonly handshakeTimeoutMs?: number;
  /** Largest batch of one call; it is split into as many requests. */
  readonly maxBatch?: number;
  /** Largest body or message. */
  readonly maxBodyBytes?: number;
  /** Largest JSON in a body. */
  readonly maxJsonBytes?: number;
  /** Most memory for bodies and answers under way, of all frontends of the process together. */
  readonly maxInflightBytes?: number;
  /** Most connections, of all frontends of the process together; half of them from one address. */
  readonly maxConnections?: number;
  /** Most requests from one address that the service has not answered; null: no limit. */
  readonly maxClientRequests?: number | null;
  /** Origins, with commas in between, whose web pages may use the HTTP API; `*`: all; null: none. */
  readonly cors?: string | null;
  /** Where this frontend counts what it holds; null: it is the only one of its process. */
  readonly budget?: BudgetSlot | null;
  /** Where it counts what it refuses; see `newRefusalCounters`. Null: no metrics show it. */
  readonly refusals?: SharedArrayBuffer | null;
  /** Other threads listen on the same port. */
  readonly sharesPort?: boolean;
}

const HANDSHAKE_TIMEOUT_MS = 10_000;

export interface FrontendSettings extends Required<FrontendOptions> {}

/** Options with the defaults filled in. Throws `E_TLS` if certificate and key cannot be used. */
export function settle(options: FrontendOptions): FrontendSettings {
  const { tls = null } = options;
  checkTls(tls);
  const defaults = {
    host: '127.0.0.1',
    classes: [],
    tenants: { header: '', list: [] },
    token: null,
    handshakeTimeoutMs: HANDSHAKE_TIMEOUT_MS,
    maxBatch: 256,
    maxBodyBytes: 64 * MIB,
    maxJsonBytes: 4 * MIB,
    maxInflightBytes: defaultInflightBytes(),
    maxConnections: DEFAULT_CONNECTIONS,
    maxClientRequests: DEFAULT_CLIENT_REQUESTS,
    cors: null,
    budget: null,
    refusals: null,
    sharesPort: false,
  };
  return { ...defaults, ...options, tls };
}

/** Time for the first record of a TLS handshake, and as much for the rest. */
export function handshakePartMs({
  handshakeTimeoutMs,
}: Pick<FrontendSettings, 'handshakeTimeoutMs'>): number {
  return handshakeTimeoutMs / 2;
}

/** Gives connections that come later another certificate. */
export function renewTls(server: Server, tls: ServerTls): void {
  if (server instanceof TlsServer) server.setSecureContext(tls);
}

/** Throws `E_TLS` if certificate and key cannot be used. */
export function checkTls(tls: FrontendSettings['tls']): void {
  try {
    if (tls !== null) createSecureContext(tls);
  } catch (error) {
    const reason = (error as Error).message;
    throw new EscapementError(
      'E_TLS',
      `the certificate and key of the server cannot be used: ${reason}; give PEM files`,
    );
  }
}

/** Largest answer. */
export function mostAnswerBytes({ maxBodyBytes }: Pick<FrontendSettings, 'maxBodyBytes'>): number {
  return Math.max(64 * MIB, maxBodyBytes);
}

/** How long a graceful close waits for requests under way. */
export const GRACE_MS = 10_000;

/** Begins to listen; resolves to the port. Throws `E_LISTEN`. */
export function listen(
  server: Server,
  transport: string,
  { host, port, sharesPort }: FrontendSettings,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = ({ message }: Error) => {
      const where = formatAddress(host, port);
      reject(new EscapementError('E_LISTEN', `cannot listen on ${where} for ${transport}: ${message}`));
    };
    server.once('error', fail);
    // Node's types leave `reusePort` out, which came later than the oldest Node that this supports.
    const place: ListenOptions & { reusePort: boolean } = { port, host, reusePort: sharesPort };
    server.listen(place, () => {
      server.off('error', fail);
      // A connection that could not be accepted, for want of file descriptors, is that client's loss alone.
      server.on('error', () => {});
      resolve((server.address() as AddressInfo).port);
    });
  });
}
