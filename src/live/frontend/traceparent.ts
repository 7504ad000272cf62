import type { IncomingHttpHeaders } from 'node:http';

/** W3C Trace Context: there is no version ff, and all zeros name no trace and no parent. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The trace that a request belongs to, by its headers or metadata; null: none that can be read. */
export function traceOf({ traceparent }: IncomingHttpHeaders): string | null {
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : null;
}
