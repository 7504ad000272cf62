import type { Clock } from '../../base/clock/clock.js';
import { type Action, INFER, STATUS_DEVICE_ERROR, UNLOAD } from '../../core/action.js';
import type { ActionMessage, ResultMessage } from '../messages.js';
import type { ServedModel } from '../model.js';
import type { InferenceRequest } from '../service.js';
import type { Fleet } from './fleet.js';

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
   * Sends the actions decided at `decidedNs`. Deciding and copying inputs may take longer than a window: the elapsed
   * time is added to all of them.
   */
  leave(decidedNs: number, requests: readonly (InferenceRequest | null)[]): void {
    if (this.actions.length === 0) return;
    const { fleet, models } = this;
    const actions = this.actions.filter((action) => this.hasPoint(action, requests));
    this.actions.length = 0;
    const messages = actions.map((action) => {
      const inputsEach = models[action.model]?.signature.inputs.length ?? 0;
      const message = actionMessage(action, fleet.localGpu(action.gpu), inputsEach, requests);
      return fleet.prepare(action.gpu, message);
    });
    const spentNs = Math.max(0, Math.ceil(this.clock.nowNs() - decidedNs));
    for (const [i, action] of actions.entries()) {
      action.latestNs += spentNs;
      action.slackNs += spentNs;
      this.sent(action);
      fleet.post(action.gpu, { ...messages[i], latestNs: action.latestNs });
    }
  }

  private hasPoint(action: Action, requests: readonly (InferenceRequest | null)[]): boolean {
    if (action.kind !== INFER) return true;
    for (let r = 0; r < action.count; r++) if (requests[action.requests[r]] !== null) return true;
    this.pointless(action);
    return false;
  }
}

/** Message that carries an action to its worker, with the worker's `gpu` number. The requests keep their inputs. */
function actionMessage(
  action: Action,
  gpu: number,
  inputsEach: number,
  requests: readonly (InferenceRequest | null)[],
): ActionMessage {
  const { id, kind, model, batchIndex, bucket, count, earliestNs, latestNs } = action;
  const message = { id, gpu, kind, model, batchIndex, bucket, count, earliestNs, latestNs };
  if (kind !== INFER) return { ...message, inputs: [] };
  const inputs: Uint8Array[] = [];
  for (let r = 0; r < count; r++) {
    const request = requests[action.requests[r]];
    for (let i = 0; i < inputsEach; i++)
      inputs.push(request === null ? placeholder(action, requests, i) : request.inputs[i]);
  }
  // With free sizes a request has its own, and runs alone.
  return { ...message, inputs, shapes: requests[action.requests[0]]?.shapes };
}

/** Message that drops a model unknown to the scheduler from a worker; nothing waits for the result. */
export function unloadMessage(gpu: number, model: number): ActionMessage {
  const latestNs = Number.POSITIVE_INFINITY;
  return { id: -1, gpu, kind: UNLOAD, model, batchIndex: 0, count: 0, earliestNs: 0, latestNs, inputs: [] };
}

/** Result of an INFER that was not sent, because its requests are answered. */
export function unsentResult({ id, gpu }: Action, nowNs: number): ResultMessage {
  const times = { beginNs: nowNs, endNs: nowNs, copyInNs: 0, copyOutNs: 0 };
  return { id, gpu, status: STATUS_DEVICE_ERROR, ...times, outputs: [], error: '' };
}

/** Placeholder for an answered request: as large as another one in the batch, since sizes may depend on lengths. */
function placeholder(
  { count, requests: slots }: Action,
  requests: readonly (InferenceRequest | null)[],
  index: number,
): Uint8Array {
  let r = 0;
  while (r < count && requests[slots[r]] === null) r++;
  return new Uint8Array(requests[slots[r]]?.inputs[index].length ?? 0);
}
