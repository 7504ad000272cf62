/*
 * Parts for a policy outside of this package: `escapement/policies`. The contract itself, `Policy`, is in
 * `escapement/core` and re-exported here.
 */
export { type Action, INFER, LOAD, STATUS_OK, UNLOAD } from '../core/action.js';
export { Calendar } from '../core/calendar.js';
export { StaleList } from '../core/demand.js';
export {
  type Dispatcher,
  type InferOrder,
  type Policy,
  type PolicyContext,
  REFUSE,
} from '../core/policy.js';
export { DeadlineQueue } from './common/deadline-queue.js';
export { DemandPlacement, type GpuRanges } from './common/demand-placement.js';
export { OneBatchAtATime } from './common/one-batch-at-a-time.js';
export { MARGIN, MAX_BATCH } from './common/options.js';
export { usableSizes } from './common/usable-sizes.js';
export { AUTO, type Plugin, type PolicyEntry, type PolicyOption, type PolicyOptions } from './entry.js';
export { POLICIES } from './registry.js';
