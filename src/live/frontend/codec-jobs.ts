import { move, transferableSymbol, valueSymbol } from 'piscina';
import { passOnWarnings } from '../warnings.js';
import { type ApiErrorKind, asApiError } from './api-error.js';
import { decodeBody, encodeAnswer } from './infer-body.js';
import { ownBuffers } from './views.js';

/** Errors lose their class on the way between threads. */
export type CodecResult<T> =
  | { readonly value: T }
  | { readonly apiError: { readonly kind: ApiErrorKind; readonly message: string } };

/** Inputs and results of the jobs. */
export interface CodecJobs {
  readonly decode: typeof decodeBody;
  readonly encode: typeof encodeAnswer;
}

passOnWarnings('codec');

export const decode = job(decodeBody, ({ inputs }) => inputs);
export const encode = job(encodeAnswer, (text) => [text]);

/** Makes a job that hands its tensors over. */
function job<Task, T>(act: (task: Task) => T, tensorsOf: (value: T) => readonly Uint8Array[]) {
  return (task: Task): unknown => {
    try {
      const value = act(task);
      return move({ [transferableSymbol]: ownBuffers(tensorsOf(value)), [valueSymbol]: { value } });
    } catch (error) {
      const { kind, message } = asApiError(error);
      return { apiError: { kind, message } } satisfies CodecResult<T>;
    }
  };
}
