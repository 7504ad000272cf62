import type { Options } from './examine.js';
import type { Endpoint } from './http.js';

/** Everything that a server can be asked, without knowing its configuration. */
export const ALL: Options = {
  ...{ only: [], mayUnload: true, priorities: [], tenantHeader: 'x-tenant', limitedTenant: undefined },
};

/** For a server that answers, however busy its machine is. */
export const PATIENT_MS = 120_000;

/** A server on this machine. */
export function endpointAt(httpPort: number, grpcPort: number | null, timeoutMs = 10_000): Endpoint {
  const url = new URL(`http://127.0.0.1:${httpPort}`);
  return { url, grpc: grpcPort === null ? null : `127.0.0.1:${grpcPort}`, timeoutMs };
}
