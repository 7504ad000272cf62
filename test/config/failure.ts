import { EscapementError } from '../../src/base/errors.js';

/** The EscapementError that `run` throws. */
export function failure(run: () => unknown): EscapementError {
  try {
    run();
  } catch (error) {
    if (error instanceof EscapementError) return error;
    throw error;
  }
  throw new Error('did not fail');
}

/** The EscapementError that `promise` rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<EscapementError> {
  const outcome = await promise.then(
    () => new Error('did not fail'),
    (error: unknown) => error,
  );
  if (outcome instanceof EscapementError) return outcome;
  throw outcome;
}
