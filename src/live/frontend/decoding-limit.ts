import { NS_PER_MS } from '../../base/units.js';
import type { OverRate } from './over-rate.js';
import { Refusal } from './refusal.js';

/** What helps a sender whose bodies take long to decode. */
export const SMALLER = 'send fewer or smaller bodies at a time, or tensors as binary data';

/** A request whose body waits to be decoded. */
interface Undecoded {
  /** When it began to come, on the service's clock. */
  readonly arrivalNs: number;
  /** Its SLO; infinity: not known before it is decoded. */
  readonly sloNs: number;
  /** Index of its tenant. */
  readonly tenant: number;
  readonly clientKey: string;
  /** Asked once `sloNs` have passed: whether the body may name another SLO. Absent: it does not. */
  mayNameSlo?(): boolean;
}

/** How long decoding a body makes sense: within its SLO, and while the scheduler may take requests of its tenant. */
export class DecodingLimit {
  private sloNs: number;

  constructor(
    private readonly request: Undecoded,
    private readonly overRate: OverRate,
    private readonly clock: { nowNs(): number },
  ) {
    this.sloNs = request.sloNs;
  }

  get leftMs(): number {
    return (this.sloNs - this.passedNs) / NS_PER_MS;
  }

  /** Since the request began to come. */
  get passedNs(): number {
    return this.clock.nowNs() - this.request.arrivalNs;
  }

  /** `waitedMs`: for a thread that decodes; `ahead`: bodies of its client and tenant that were before it. */
  refusal(waitedMs: number, ahead: number): Refusal | null {
    const { request, overRate } = this;
    const nowNs = this.clock.nowNs();
    const refusal = overRate.refusal(request.tenant, nowNs);
    if (refusal !== null) return refusal;
    const passedNs = nowNs - request.arrivalNs;
    if (passedNs < this.sloNs) return null;
    if (request.mayNameSlo?.() === true) {
      this.sloNs = Number.POSITIVE_INFINITY;
      return null;
    }
    overRate.notInTime(request.tenant, request.clientKey);
    const passed = `${(passedNs / NS_PER_MS).toFixed(3)} ms had passed`;
    const others = ahead === 0 ? 'behind those of others' : `behind ${ahead} that its sender had sent before`;
    const waited = `of which the body waited ${waitedMs.toFixed(3)} ms to be decoded, ${others}`;
    const slo = `the SLO of ${this.sloNs / NS_PER_MS} ms could not be met`;
    return new Refusal('timeout', `${slo}: ${passed}, ${waited}; ${SMALLER}`);
  }
}
