/** Reason why a question to a worker that went down has no answer. */
export const NOT_CONNECTED = 'the worker is not connected any more';

/** A worker went down before it could answer: it is asked again when it is back, or left alone. */
export class WorkerGone extends Error {
  constructor() {
    super(NOT_CONNECTED);
  }
}
