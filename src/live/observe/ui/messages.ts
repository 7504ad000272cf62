import type { ClusterStatus } from '../status/cluster-status.js';

/*
 * Messages of a server to the pages that follow it, as server-sent events whose data is JSON. Times in ns since the
 * start of the controller. Rows are those of src/record/run-rows.ts: the bytes of a Float64Array, little-endian, as
 * base64.
 */

/** `setup`: starts a stream, and is repeated when models come or go, or when a reader missed events. */
export interface SetupMessage extends RowsMessage {
  readonly policy: string;
  readonly gpus: number;
  /** True if LOAD and INFER share a lane. */
  readonly oneLane: boolean;
  /** By index: name, and time of an INFER of one request; empty and 0: there is no model. */
  readonly models: readonly string[];
  readonly modelInferMs: readonly number[];
  readonly status: ClusterStatus;
}

/** `rows`: changes since the last ones. */
export interface RowsMessage {
  readonly nowNs: number;
  readonly actions: string;
  readonly requests: string;
}

/** `status`: as returned by `GET /status`. */
export type StatusMessage = ClusterStatus;
