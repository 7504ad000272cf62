import { readJournal } from './journal-reader.js';

/** Trace id in a `traceparent`. */
const TRACE_ID = /^[0-9a-f]{32}$/;

/** Trace id in user input: a trace id, or a whole `traceparent`. Null: neither. */
export function traceIdOf(text: string): string | null {
  const [first, second] = text.trim().toLowerCase().split('-');
  const id = second ?? first;
  return TRACE_ID.test(id) ? id : null;
}

/**
 * Sequence numbers of a journal's requests that belong to a trace: a client may have retried, and a call with a large
 * batch is several requests. Throws the errors of `readJournal`.
 */
export async function requestsOfTrace(path: string, traceId: string): Promise<number[]> {
  const found: number[] = [];
  let requests = 0;
  const ignore = () => {};
  await readJournal(path, () => ({
    offer: () => {
      requests++;
    },
    trace: (traceparent) => {
      if (traceIdOf(traceparent) === traceId) found.push(requests - 1);
    },
    cancel: ignore,
    result: ignore,
    gpuDown: ignore,
    gpuUp: ignore,
    putModel: ignore,
    retireModel: ignore,
    step: ignore,
  }));
  return found;
}
