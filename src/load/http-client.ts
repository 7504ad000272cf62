import { Pool } from 'undici';
import type { TargetOptions } from './target.js';

/**
 * Connections to the server at `base`, opened when they are needed, up to a number: each carries one request at a time, and
 * is kept while the server keeps it. Neither redirects nor failures are followed by another request.
 */
export function openPool(
  base: URL,
  { ca, insecure }: Pick<TargetOptions, 'ca' | 'insecure'>,
  connections: number,
): Pool {
  return new Pool(base.origin, {
    connections,
    pipelining: 1,
    // The player gives up by itself; 0: no other limit.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { rejectUnauthorized: insecure !== true, ...(ca === undefined ? {} : { ca }) },
  });
}

/** An AggregateError of several addresses has no message of its own. */
export function reasonOf(error: Error): string {
  return error.message || String((error as NodeJS.ErrnoException).code);
}
