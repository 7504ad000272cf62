import { NS_PER_MS } from '../../base/units.js';

/** Time before the deadline by which results must be on their way. */
const BUFFER_NS = 5 * NS_PER_MS;
/** Longest time within which a LOAD is still useful to a request. */
const MAX_LOAD_SLACK_NS = 25 * NS_PER_MS;

/**
 * Time from arrival to the internal deadline, for which actions are planned. With a schedule_ahead beyond
 * SLO − 10 ms it lies after the SLO itself: such requests are served, late. That is what makes
 * tuning schedule_ahead worthwhile.
 */
export function execSlackNs(sloNs: number, scheduleAheadNs: number): number {
  return Math.max(sloNs < BUFFER_NS ? sloNs : sloNs - BUFFER_NS, scheduleAheadNs + BUFFER_NS);
}

/** Time from arrival within which a LOAD should start in order to serve the request that asks for it. */
export function loadSlackNs(sloNs: number, scheduleAheadNs: number, loadNs: number, execNs: number): number {
  const left = sloNs - (loadNs + execNs + BUFFER_NS + scheduleAheadNs);
  const slack = Math.min(MAX_LOAD_SLACK_NS, sloNs, left < 0 ? sloNs : left);
  return Math.max(slack, scheduleAheadNs + BUFFER_NS);
}
