import type { RefusalKind } from '../refusal.js';
import type { CodecJob } from './codec-jobs.js';

/** To a codec thread: one at a time. */
export interface CodecOrder {
  readonly name: CodecJob;
  readonly input: unknown;
  /** The buffers in it that are the thread's from now on. */
  readonly buffers: readonly ArrayBuffer[];
}

/** From a codec thread: one for each order. */
export type CodecReply =
  | { readonly value: unknown; readonly refusal?: undefined }
  | { readonly refusal: { readonly kind: RefusalKind; readonly message: string } };
