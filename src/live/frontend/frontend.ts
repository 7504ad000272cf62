import type { Tenant } from '../../core/tenants.js';
import { checkIdentity, type ServerTls } from '../wire/credentials.js';
import type { PriorityClass } from './inference.js';
import { type BudgetSlot, defaultLimits, type Limits } from './limits.js';

/** One transport of the Open Inference Protocol, listening. */
export interface Frontend {
  readonly port: number;
  /**
   * Takes no new connection after a moment. `graceful`: requests under way, and those that come until then, are answered
   * first, for at most ten seconds; otherwise they are cut off. Resolves when no connection is left.
   */
  close(graceful: boolean): Promise<void>;
  /** Connections that come later get this certificate, if it encrypts at all. */
  renew(tls: ServerTls): void;
}

/** Tenants as frontends know them. Plain data. */
export interface TenantHeader {
  /** HTTP header, and key of gRPC metadata, that names the tenant; '': none are told apart. */
  readonly header: string;
  readonly list: readonly Omit<Tenant, 'share'>[];
}

/** Plain data: it crosses threads. */
export interface FrontendOptions extends Partial<Limits> {
  /** 0: any free port. */
  readonly port: number;
  /** SLO of requests that carry none, for models that have none, ns. */
  readonly defaultSloNs: number;
  /** Classes that the protocol's `priority` may select. Default: none. */
  readonly classes?: readonly PriorityClass[];
  /** Header by which clients name their tenant. Default: none. */
  readonly tenants?: TenantHeader;
  /** Version in the server's metadata. */
  readonly serverVersion: string;
  /** Address to bind. */
  readonly host?: string;
  /** Clients must show it as a bearer token, except to ask for the server's health. */
  readonly token?: string | null;
  readonly tls?: ServerTls | null;
  /** Origins, with commas in between, whose web pages may use the HTTP API; `*`: all; null: none. */
  readonly cors?: string | null;
  /** Shared counters of held memory; null: it is the only frontend of its process. */
  readonly budget?: BudgetSlot | null;
  /** Counters of refused requests, see `newApiErrorCounters`; null: no metrics show them. */
  readonly apiErrors?: SharedArrayBuffer | null;
  /** Other threads listen on the same port. */
  readonly reusePort?: boolean;
}

export interface FrontendSettings extends Required<FrontendOptions> {}

/** Hears the address of a client with a connection too many. */
export type TurnedAway = (client: string) => void;

/** Options with the defaults filled in. Throws `E_TLS` if certificate and key cannot be used. */
export function settle(options: FrontendOptions): FrontendSettings {
  const { tls = null } = options;
  if (tls !== null) checkIdentity(tls, 'the certificate and key of the server');
  const defaults = {
    ...defaultLimits(),
    host: '127.0.0.1',
    classes: [],
    tenants: { header: '', list: [] },
    token: null,
    cors: null,
    budget: null,
    apiErrors: null,
    reusePort: false,
  };
  return { ...defaults, ...options, tls };
}
