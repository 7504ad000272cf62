import type { ClusterStatus } from '../status/cluster-status.js';

/*
 * What a server tells the pages that follow it, as server-sent events whose data is JSON. Times in ns since the start of the
 * controller. Rows are those of src/record/run-rows.ts: the bytes of a Float64Array, least significant first, as base64.
 */

/** `setup`: begins a stream, and comes again when models come or go, or when a reader missed events. */
export interface SetupMessage extends RowsMessage {
  readonly policy: string;
  readonly gpus: number;
  /** LOAD and INFER share a lane. */
  readonly oneLane: boolean;
  /** Names by index, and how long an INFER of one request takes; empty and 0: there is none. */
  readonly models: readonly string[];
  readonly modelInferMs: readonly number[];
  readonly status: ClusterStatus;
}

/** `rows`: what happened since the last ones. */
export interface RowsMessage {
  readonly nowNs: number;
  readonly actions: string;
  readonly requests: string;
}

/** `status`: as `GET /status` answers. */
export type StatusMessage = ClusterStatus;
