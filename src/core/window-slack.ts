import { NS_PER_MS } from '../base/units.js';
import { type Action, STATUS_INFER_TOO_LATE, STATUS_LOAD_TOO_LATE, STATUS_OK } from './action.js';

/** Minimum extension after a miss, so that retries terminate even if clocks disagree. */
const LEAST_NS = NS_PER_MS / 10;
/** Factor on the amount missed by which windows grow. */
const HEADROOM = 1.5;
/** Decay of unused slack with each successful action. */
const KEPT = 0.99;

/**
 * Extension of the windows of each GPU's actions beyond what the policy planned: by as much as actions were recently
 * late there because of slow messages, tensor copies or clock error. Otherwise a retried action would miss its window
 * again.
 */
export class WindowSlack {
  private readonly slackNs: Float64Array;

  constructor(gpus: number) {
    this.slackNs = new Float64Array(gpus);
  }

  get(gpu: number): number {
    return this.slackNs[gpu];
  }

  /** Records an action's result. An UNLOAD's window has no end, so it lets the slack shrink like any success. */
  ended({ gpu, status, beginNs, latestNs, slackNs }: Action): void {
    const lateNs = Math.ceil(beginNs - (latestNs - slackNs));
    const current = this.slackNs[gpu];
    if (status === STATUS_OK) {
      if (current > 0) this.slackNs[gpu] = Math.max(Math.floor(KEPT * current), lateNs);
    } else if (status === STATUS_INFER_TOO_LATE || status === STATUS_LOAD_TOO_LATE)
      this.slackNs[gpu] = Math.max(current + LEAST_NS, Math.ceil(HEADROOM * lateNs));
  }
}
