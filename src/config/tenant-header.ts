/** What stands in these must be in no log, metric or journal. */
const SECRET: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie']);

/** These say how a message is to be read, by RFC 9110 and 9112 or the protocol's binary extension. */
const OF_HTTP: ReadonlySet<string> = new Set([
  ...[
    'host',
    'connection',
    'keep-alive',
    'proxy-connection',
    'transfer-encoding',
    'upgrade',
    'te',
    'trailer',
  ],
  ...['expect', 'content-length', 'content-type', 'content-encoding', 'accept-encoding'],
  'inference-header-content-length',
]);

/** Why a header, which is also a key of gRPC metadata, cannot name tenants; null: it can. */
export function headerProblem(name: string): string | null {
  const lower = name.toLowerCase();
  if (SECRET.has(lower)) return 'holds a secret, which must not name a tenant: choose another header';
  if (!/^[a-z0-9-]+$/.test(lower)) return 'must be letters, digits and -, e.g. x-tenant';
  if (OF_HTTP.has(lower) || lower.startsWith('grpc-'))
    return 'has a meaning of its own to HTTP or gRPC, so it cannot name a tenant: choose another header, e.g. x-tenant';
  if (lower.endsWith('-bin')) return 'must not end in -bin, which means bytes in gRPC: choose another header';
  return lower === name ? null : `must be in lower case: ${lower}`;
}
