export { BitMatrix } from '../base/bit-matrix.js';
export { type ErrorCode, type ErrorPlace, EscapementError } from '../base/errors.js';
export { InvariantError, invariant } from '../base/invariant.js';
export {
  DEFAULT_PAGE_BYTES,
  GIB,
  KIB,
  MIB,
  NS_PER_HOUR,
  NS_PER_MINUTE,
  NS_PER_MS,
  NS_PER_S,
  NS_PER_US,
} from '../base/units.js';
export {
  ABORT,
  ACTION_NAMES,
  Action,
  type ActionKind,
  INFER,
  LANE_EXEC,
  LANE_NAMES,
  LANE_WEIGHTS,
  type Lane,
  LOAD,
  STATUS_ABORTED,
  STATUS_DEVICE_ERROR,
  STATUS_INFER_TOO_LATE,
  STATUS_INFER_WEIGHTS_CHANGED,
  STATUS_INSUFFICIENT_CACHE,
  STATUS_INVALID_INPUT,
  STATUS_LOAD_TOO_LATE,
  STATUS_LOAD_WEIGHTS_CHANGED,
  STATUS_OK,
  STATUS_PENDING,
  STATUS_WEIGHTS_MISSING,
  STATUS_WORKER_LOST,
  UNLOAD,
} from './action.js';
export { ADMISSIONS, type Admission } from './admission.js';
export type { ArrivalSource } from './arrivals.js';
export { BatchQueue } from './batch-queue.js';
export { Booking } from './booking.js';
export { Calendar } from './calendar.js';
export { MOST_CLASSES, ONE_CLASS, type RequestClass } from './classes.js';
export { Cluster } from './cluster.js';
export type { ClusterSpec, GpuKind } from './cluster-spec.js';
export { Controller } from './controller.js';
export type { ControllerOptions } from './controller-options.js';
export type { ControllerPort } from './controller-port.js';
export { DemandTracker, StaleList } from './demand.js';
export type { DevicePort } from './device-port.js';
export { Digest } from './digest.js';
export { Estimates } from './estimates.js';
export { PADDINGS, type Padding } from './lengths.js';
export { checkModel, type ModelSpec, type ModelTimes } from './model.js';
export type { RunObserver } from './observer.js';
export { PageCache } from './page-cache.js';
export { MOST_FAN_OUT, type PipelineSpec, type PipelineStep, SPLITS, type Split } from './pipelines.js';
export { type Dispatcher, type InferOrder, type Policy, type PolicyContext, REFUSE } from './policy.js';
export { predictLatencyNs } from './prediction.js';
export { Recency } from './recency.js';
export {
  OUTCOME_CANCELLED,
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_NAMES,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
  RequestTable,
} from './request.js';
export { MOST_TENANTS, type Tenant } from './tenants.js';
export { LaneTimeline, TIMELINE_FUTURE_NS, TIMELINE_LAG_NS } from './timeline.js';
export { laneOf, Worker, type WorkerOptions } from './worker.js';
