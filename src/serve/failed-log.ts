import type { Logger } from 'pino';
import { NS_PER_MS } from '../base/units.js';
import type { Action } from '../core/action.js';
import type { RunObserver } from '../core/observer.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_NAMES,
  OUTCOME_OK,
  type Outcome,
  type RequestTable,
} from '../core/request.js';
import type { LiveEvents } from '../live/controller/live-events.js';
import { limitName } from '../record/flight/flight.js';

/**
 * Logs each request that the scheduler took and did not answer in time, with its trace if it has one, so that a trace
 * leads to the reason. At level debug: under overload that is a line for almost every request.
 */
export class FailedLog implements RunObserver, Pick<LiveEvents, 'traced'> {
  /** By unanswered request. */
  private readonly traces = new Map<number, string>();

  /** `nameOf`: name of the model at an index; `tenants`: their names, empty without tenants. */
  constructor(
    private readonly log: Pick<Logger, 'debug'>,
    private readonly nameOf: (model: number) => string,
    private readonly tenants: readonly string[] = [],
  ) {}

  traced(id: number, traceparent: string): void {
    this.traces.set(id, traceparent);
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    _copies: number,
    action: Action | null,
  ): void {
    const { id, model, arrivalNs } = requests;
    const request = id[slot];
    const traceparent = this.traces.get(request);
    if (traceparent !== undefined) this.traces.delete(request);
    if (outcome === OUTCOME_OK) return;
    const what = {
      request,
      model: this.nameOf(model[slot]),
      outcome: OUTCOME_NAMES[outcome],
      ...this.senderOf(requests, slot),
      latencyMs: (nowNs - arrivalNs[slot]) / NS_PER_MS,
      ...(action === null ? {} : { action: action.id }),
      ...(traceparent === undefined ? {} : { traceparent }),
    };
    this.log.debug(what, 'a request missed its SLO, failed or was cancelled');
  }

  cancelled(requests: RequestTable, slot: number, nowNs: number, copies: number): void {
    this.answered(requests, slot, OUTCOME_CANCELLED, nowNs, copies, null);
  }

  completed(): void {}

  /** Tenant of a request, and the limit that refused it. */
  private senderOf({ tenant, limit }: RequestTable, slot: number) {
    const { tenants } = this;
    if (tenants.length === 0) return {};
    const beyond = limitName(limit[slot]);
    return { tenant: tenants[tenant[slot]], ...(beyond === undefined ? {} : { limit: beyond }) };
  }
}
