import type { Action } from '../core/action.js';
import type { RunObserver } from '../core/observer.js';
import type { Outcome, RequestTable } from '../core/request.js';

/** One observer that notifies several, in the given order. A single one is returned unchanged. */
export function fanOut(observers: readonly RunObserver[]): RunObserver {
  const [first = IGNORING, ...rest] = observers;
  return rest.length === 0 ? first : new Both(first, fanOut(rest));
}

const IGNORING: RunObserver = { answered() {}, completed() {} };

class Both implements RunObserver {
  readonly decided?: (action: Action, nowNs: number) => void;

  constructor(
    private readonly first: RunObserver,
    private readonly second: RunObserver,
  ) {
    if (first.decided === undefined && second.decided === undefined) return;
    this.decided = (action, nowNs) => {
      first.decided?.(action, nowNs);
      second.decided?.(action, nowNs);
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
    this.first.answered(requests, slot, outcome, nowNs, copies, action);
    this.second.answered(requests, slot, outcome, nowNs, copies, action);
  }

  cancelled(requests: RequestTable, slot: number, nowNs: number, copies: number): void {
    this.first.cancelled?.(requests, slot, nowNs, copies);
    this.second.cancelled?.(requests, slot, nowNs, copies);
  }

  completed(action: Action, nowNs: number, queued: number, copies: number): void {
    this.first.completed(action, nowNs, queued, copies);
    this.second.completed(action, nowNs, queued, copies);
  }
}
