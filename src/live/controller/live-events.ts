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
  /** A step has a number in the core's request table; `pipeline`: the index of its pipeline. */
  stepCame(step: number, name: string, pipeline: number): void;
  /** A request with a trace arrived; `id` is its number in the core's request table. */
  traced(id: number, traceparent: string): void;
  /** The core has processed events and decided: it began at `nowNs` and took `tookNs`. */
  stepped(nowNs: number, tookNs: number): void;
  /** The result of an action has arrived; `action` has its times already. */
  ran(action: Action, result: ResultMessage): void;
}

/** All of them; the compiler asks for those that are missing. */
const EVENTS = Object.keys({
  ...{ wokeLate: 0, gpuDown: 0, gpuUp: 0, worker: 0, workerLeft: 0, standsBy: 0, deviceError: 0 },
  ...{ modelCame: 0, modelGone: 0, stepCame: 0, traced: 0, stepped: 0, ran: 0 },
} satisfies Record<keyof LiveEvents, 0>) as (keyof LiveEvents)[];

/** Notifies each of `parts` of the events it has a method for, in the order given. */
export function fanOutEvents(parts: readonly Partial<LiveEvents>[]): LiveEvents {
  const methods = EVENTS.map((event) => {
    const hearing = parts.filter((part) => part[event] !== undefined) as Heard[];
    const fan = (...all: unknown[]) => {
      for (const part of hearing) part[event](...all);
    };
    return [event, fan];
  });
  return Object.fromEntries(methods);
}

type Heard = Readonly<Record<string, (...all: unknown[]) => void>>;
