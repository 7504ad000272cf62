import type { ArrivalSource } from '../../../src/core/arrivals.js';
import type { Arrival } from '../../sim/fixtures.js';

/** A request as it came, before the scheduler saw it. */
export interface SentRequest extends Arrival {
  readonly user: number;
  readonly requestClass: number;
  readonly tenant: number;
  readonly length: number;
}

/** Notes each request that a source delivers. */
export class WatchedSource implements ArrivalSource {
  readonly answered?: (user: number, nowNs: number) => void;

  constructor(
    private readonly source: ArrivalSource,
    private readonly sent: (request: SentRequest) => void,
  ) {
    if (source.answered !== undefined) this.answered = source.answered.bind(source);
  }

  get timeNs(): number {
    return this.source.timeNs;
  }

  get model(): number {
    return this.source.model;
  }

  get sloNs(): number {
    return this.source.sloNs;
  }

  get user(): number {
    return this.source.user;
  }

  get requestClass(): number {
    return this.source.requestClass ?? 0;
  }

  get tenant(): number {
    return this.source.tenant ?? 0;
  }

  get length(): number {
    return this.source.length ?? 0;
  }

  get starved(): boolean {
    return this.source.starved === true;
  }

  advance(): void {
    const { timeNs, model, sloNs, user, requestClass, tenant, length } = this;
    this.sent({ timeNs, model, sloNs, user, requestClass, tenant, length });
    this.source.advance();
  }

  async refill(): Promise<void> {
    await this.source.refill?.();
  }
}
