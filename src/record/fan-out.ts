import type { Action } from '../core/action.js';
import type { RunObserver } from '../core/observer.js';
import type { Outcome, RequestTable } from '../core/request.js';

/** One observer that notifies several, in the given order. A single one is returned unchanged. */
export function fanOut(observers: readonly RunObserver[]): RunObserver {
  return observers.length === 1 ? observers[0] : new FanOut(observers);
}

class FanOut implements RunObserver {
  readonly decided?: (action: Action, nowNs: number) => void;

  constructor(private readonly observers: readonly RunObserver[]) {
    const sighted = observers.filter(({ decided }) => decided !== undefined);
    if (sighted.length === 0) return;
    this.decided = (action, nowNs) => {
      for (const observer of sighted) observer.decided?.(action, nowNs);
    };
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    copies: number,
    action: Action | null,
  ): void {
    for (let i = 0; i < this.observers.length; i++) {
      this.observers[i].answered(requests, slot, outcome, nowNs, copies, action);
    }
  }

  cancelled(requests: RequestTable, slot: number, nowNs: number, copies: number): void {
    for (const observer of this.observers) observer.cancelled?.(requests, slot, nowNs, copies);
  }

  completed(action: Action, nowNs: number, queued: number, copies: number): void {
    for (let i = 0; i < this.observers.length; i++)
      this.observers[i].completed(action, nowNs, queued, copies);
  }
}
