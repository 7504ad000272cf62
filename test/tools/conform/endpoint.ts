import type { Endpoint } from '../../../src/tools/conform/wire/endpoint.js';

export const OPTIONS = {
  ...{ model: undefined, only: [], mayUnload: true, onProgress: () => {} },
  senders: { priorities: [], tenantHeader: 'x-tenant', limitedTenant: undefined },
};

/** A server on this machine. */
export function endpointAt(httpPort: number, grpcPort: number | null): Endpoint {
  return {
    url: new URL(`http://127.0.0.1:${httpPort}`),
    grpc: grpcPort === null ? null : `127.0.0.1:${grpcPort}`,
    token: undefined,
    ca: undefined,
    insecure: false,
    timeoutMs: 2500,
    maxAnswerBytes: 16 * 1024 * 1024,
  };
}
