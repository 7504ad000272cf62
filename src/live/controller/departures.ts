import type { Clock } from '../../base/clock/clock.js';
import type { Action } from '../../core/action.js';
import type { ActionMessage } from '../messages.js';
import type { ServedModel } from '../model.js';
import type { InferenceRequest } from '../service.js';
import type { Fleet } from './fleet.js';
import { actionMessage } from './gather.js';

/** The actions that one step has decided on, until they leave together with their tensors. */
export class Departures {
  private readonly actions: Action[] = [];

  constructor(
    private readonly fleet: Fleet,
    private readonly models: readonly ServedModel[],
    private readonly clock: Clock,
    /** Called with each action as it leaves. */
    private readonly sent: (action: Action) => void,
  ) {}

  add(action: Action): void {
    this.actions.push(action);
  }

  /**
   * Sends what was decided on at `decidedNs`. Copying large inputs takes longer than a window: the time that went by
   * since is added to all of them.
   */
  leave(decidedNs: number, requests: readonly (InferenceRequest | null)[]): void {
    const { actions, fleet, models } = this;
    if (actions.length === 0) return;
    const messages = actions.map((action) =>
      actionMessage(action, fleet.localGpu(action.gpu), models[action.model].signature.inputs, requests),
    );
    const spentNs = Math.max(0, Math.ceil(this.clock.nowNs() - decidedNs));
    for (const [i, action] of actions.entries()) {
      action.latestNs += spentNs;
      action.slackNs += spentNs;
      this.sent(action);
      fleet.post(action.gpu, withLatest(messages[i], action.latestNs));
    }
    actions.length = 0;
  }
}

function withLatest(message: ActionMessage, latestNs: number): ActionMessage {
  return { ...message, latestNs };
}
