import { readJournal } from './journal-reader.js';

/** Digits of a trace id in a `traceparent`. */
const TRACE_ID = /^[0-9a-f]{32}$/;

/** The id in what a user gives: a trace id, or a whole `traceparent`. Null: it is neither. */
export function traceIdOf(text: string): string | null {
  const [first, second] = text.trim().toLowerCase().split('-');
  const id = second ?? first;
  return TRACE_ID.test(id) ? id : null;
}

/**
 * The requests of a journal that belong to a trace, by their sequence numbers: a client may have tried again, and a call
 * with a large batch is several requests. Throws what `readJournal` throws.
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
