import { NS_PER_MS } from '../base/units.js';
import { type Action, STATUS_INFER_TOO_LATE, STATUS_LOAD_TOO_LATE, STATUS_OK } from './action.js';

/** A miss makes windows longer by this at least, so that tries come to an end also where clocks disagree. */
const LEAST_NS = NS_PER_MS / 10;
/** After a miss windows get longer by this many times what was missed. */
const HEADROOM = 1.5;
/** What is not needed any more shrinks to this share with each action that went well. */
const KEPT = 0.99;

/**
 * How much longer the windows of each GPU's actions are than the policy planned: as much as actions have recently come
 * too late there, because messages take longer than planned, tensors are copied, or clocks are off. Otherwise what missed
 * its window and is tried again would miss it again.
 */
export class WindowSlack {
  private readonly slackNs: Float64Array;

  constructor(gpus: number) {
    this.slackNs = new Float64Array(gpus);
  }

  get(gpu: number): number {
    return this.slackNs[gpu];
  }

  /** An action has a result. The window of an UNLOAD has no end: like any that went well, it lets the slack shrink. */
  ended({ gpu, status, beginNs, latestNs, slackNs }: Action): void {
    const lateNs = Math.ceil(beginNs - (latestNs - slackNs));
    const current = this.slackNs[gpu];
    if (status === STATUS_OK) {
      if (current > 0) this.slackNs[gpu] = Math.max(Math.floor(KEPT * current), lateNs);
    } else if (status === STATUS_INFER_TOO_LATE || status === STATUS_LOAD_TOO_LATE)
      this.slackNs[gpu] = Math.max(current + LEAST_NS, Math.ceil(HEADROOM * lateNs));
  }
}
