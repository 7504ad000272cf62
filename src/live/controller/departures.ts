import type { Clock } from '../../base/clock/clock.js';
import { type Action, INFER } from '../../core/action.js';
import type { ActionMessage } from '../messages.js';
import type { ServedModel } from '../model.js';
import type { InferenceRequest } from '../service.js';
import type { Fleet } from './fleet.js';
import { actionMessage } from './gather.js';

/** Actions decided in one step, until they are sent together with their tensors. */
export class Departures {
  private readonly actions: Action[] = [];

  constructor(
    private readonly fleet: Fleet,
    private readonly models: readonly (ServedModel | null)[],
    private readonly clock: Clock,
    /** Called with each action as it is sent. */
    private readonly sent: (action: Action) => void,
    /** Called with an INFER whose requests are all answered, instead of sending it. */
    private readonly pointless: (action: Action) => void,
  ) {}

  add(action: Action): void {
    this.actions.push(action);
  }

  /**
   * Sends the actions decided at `decidedNs`. Copying inputs may take longer than a window: the elapsed time is added
   * to all of them.
   */
  leave(decidedNs: number, requests: readonly (InferenceRequest | null)[]): void {
    if (this.actions.length === 0) return;
    const { fleet, models } = this;
    const actions = this.actions.filter((action) => this.hasPoint(action, requests));
    this.actions.length = 0;
    const messages = actions.map((action) =>
      actionMessage(
        action,
        fleet.localGpu(action.gpu),
        models[action.model]?.signature.inputs.length ?? 0,
        requests,
      ),
    );
    const spentNs = Math.max(0, Math.ceil(this.clock.nowNs() - decidedNs));
    for (const [i, action] of actions.entries()) {
      action.latestNs += spentNs;
      action.slackNs += spentNs;
      this.sent(action);
      fleet.post(action.gpu, withLatest(messages[i], action.latestNs));
    }
  }

  private hasPoint(action: Action, requests: readonly (InferenceRequest | null)[]): boolean {
    if (action.kind !== INFER) return true;
    for (let r = 0; r < action.count; r++) if (requests[action.requests[r]] !== null) return true;
    this.pointless(action);
    return false;
  }
}

function withLatest(message: ActionMessage, latestNs: number): ActionMessage {
  return { ...message, latestNs };
}
