/** Kinds of actions that a worker takes. */
export const LOAD = 0;
export const UNLOAD = 1;
export const INFER = 2;
/** Cancels every INFER of a GPU that has no result yet. */
export const ABORT = 3;
export const ACTION_NAMES = ['LOAD', 'UNLOAD', 'INFER', 'ABORT'] as const;
export type ActionKind = 0 | 1 | 2 | 3;

/** Result of an action; the numbers are those of Clockwork's logs. */
export const STATUS_OK = 0;
export const STATUS_LOAD_TOO_LATE = 51;
export const STATUS_INSUFFICIENT_CACHE = 53;
export const STATUS_LOAD_WEIGHTS_CHANGED = 54;
export const STATUS_INFER_TOO_LATE = 81;
export const STATUS_WEIGHTS_MISSING = 82;
export const STATUS_INFER_WEIGHTS_CHANGED = 84;
/**
 * Ours: no input in the batch is valid for the model; cancelled before completion; device failure; worker lost before
 * it answered.
 */
export const STATUS_INVALID_INPUT = 96;
export const STATUS_ABORTED = 97;
export const STATUS_DEVICE_ERROR = 98;
export const STATUS_WORKER_LOST = 99;
/** Not answered yet. */
export const STATUS_PENDING = -1;

/** Lanes of a GPU: each runs one thing at a time. */
export const LANE_EXEC = 0;
export const LANE_WEIGHTS = 1;
export const LANE_NAMES = ['EXEC', 'WEIGHTS'] as const;
export type Lane = 0 | 1;

/**
 * One order to one GPU, from the time it is planned until its result has been handled. The controller pools these
 * objects: copy what you want to keep.
 */
export class Action {
  id = 0;
  kind: ActionKind = INFER;
  gpu = 0;
  model = 0;
  /** Index into the model's batch sizes, and the size itself (1 for LOAD and UNLOAD). */
  batchIndex = 0;
  batchSize = 1;
  /** Bucket of an INFER: index into the model's lengths of the one that inputs are padded to; 0 if it has none. */
  bucket = 0;
  /** Slots of an INFER's requests; only the first `count` are valid. */
  readonly requests: Int32Array;
  count = 0;

  /** The plan: send time, window in which the action may start, expected times. */
  sentNs = 0;
  earliestNs = 0;
  latestNs = 0;
  /** Time added to the window that the policy planned. */
  slackNs = 0;
  expectedDurationNs = 0;
  expectedEndNs = 0;

  /** The result as the worker measured it, converted to the controller's time. */
  status = STATUS_PENDING;
  beginNs = 0;
  endNs = 0;
  /** GPU clock during the action, relative to nominal (1). */
  clock = 1;

  constructor(maxBatch: number) {
    this.requests = new Int32Array(maxBatch);
  }
}
