import type { Action } from '../../core/action.js';
import type { ResultMessage } from '../messages.js';
import type { ServedModel } from '../model.js';

/** Events around the core, for logs and metrics. */
export interface LiveEvents {
  /** The timer for the core's next wake-up fired this late. */
  wokeLate(lateNs: number): void;
  gpuDown(gpu: number, reason: string): void;
  gpuUp(gpu: number): void;
  /** `asAsked`: it is down because it was asked to shut down. */
  worker(name: string, up: boolean, what: string, asAsked?: boolean): void;
  /** A worker that registered itself has left for good. */
  workerLeft(name: string): void;
  /** True when another controller drives the workers; false when this one does. */
  standsBy(isIt: boolean): void;
  deviceError(gpu: number, model: string, error: string): void;
  /** A model was added at an index; a model left. */
  modelCame(index: number, model: ServedModel): void;
  modelGone(index: number): void;
  /** A request with a trace arrived; `id` is its number in the core's request table. */
  traced(id: number, traceparent: string): void;
  /** The core has processed events and decided: it began at `nowNs` and took `tookNs`. */
  stepped(nowNs: number, tookNs: number): void;
  /** An action leaves for its worker. */
  sent(action: Action): void;
  /** The result of an action has arrived; `action` has its times already. */
  ran(action: Action, result: ResultMessage): void;
}

/** Notifies each of `parts` of the events it has a method for, in the order given. */
export function fanOutEvents(parts: readonly Partial<LiveEvents>[]): LiveEvents {
  return new EventFan(parts);
}

class EventFan implements LiveEvents {
  constructor(private readonly parts: readonly Partial<LiveEvents>[]) {}

  wokeLate(lateNs: number): void {
    for (const part of this.parts) part.wokeLate?.(lateNs);
  }

  gpuDown(gpu: number, reason: string): void {
    for (const part of this.parts) part.gpuDown?.(gpu, reason);
  }

  gpuUp(gpu: number): void {
    for (const part of this.parts) part.gpuUp?.(gpu);
  }

  worker(name: string, up: boolean, what: string, asAsked?: boolean): void {
    for (const part of this.parts) part.worker?.(name, up, what, asAsked);
  }

  workerLeft(name: string): void {
    for (const part of this.parts) part.workerLeft?.(name);
  }

  standsBy(isIt: boolean): void {
    for (const part of this.parts) part.standsBy?.(isIt);
  }

  deviceError(gpu: number, model: string, error: string): void {
    for (const part of this.parts) part.deviceError?.(gpu, model, error);
  }

  modelCame(index: number, model: ServedModel): void {
    for (const part of this.parts) part.modelCame?.(index, model);
  }

  modelGone(index: number): void {
    for (const part of this.parts) part.modelGone?.(index);
  }

  traced(id: number, traceparent: string): void {
    for (const part of this.parts) part.traced?.(id, traceparent);
  }

  stepped(nowNs: number, tookNs: number): void {
    for (const part of this.parts) part.stepped?.(nowNs, tookNs);
  }

  sent(action: Action): void {
    for (const part of this.parts) part.sent?.(action);
  }

  ran(action: Action, result: ResultMessage): void {
    for (const part of this.parts) part.ran?.(action, result);
  }
}
