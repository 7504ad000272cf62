import type { Cluster } from './cluster.js';
import type { Policy } from './policy.js';
import { predictLatencyNs } from './prediction.js';
import type { RequestTable } from './request.js';

/** Ways to refuse requests on arrival, in addition to the policy's own. */
export const ADMISSIONS = ['none', 'predict'] as const;
export type Admission = (typeof ADMISSIONS)[number];

/** Admission by prediction: accepts an arriving request only if it can be expected to be answered in time. */
export class Forecast {
  constructor(
    private readonly cluster: Cluster,
    private readonly requests: RequestTable,
    private readonly policy: Policy,
  ) {}

  isInTime(slot: number, nowNs: number): boolean {
    if (this.isPredictedInTime(slot, nowNs)) return true;
    // Refused requests are never measured, so one slow INFER would shut out its model for good.
    const forgot = this.cluster.forgetMeasurements(this.requests.model[slot], nowNs);
    return forgot && this.isPredictedInTime(slot, nowNs);
  }

  private isPredictedInTime(slot: number, nowNs: number): boolean {
    const { requests } = this;
    const model = requests.model[slot];
    const restNs = predictLatencyNs(
      this.cluster,
      model,
      this.queuedBefore(slot, model),
      nowNs,
      requests.bucket[slot],
    );
    requests.predictedNs[slot] = nowNs - requests.arrivalNs[slot] + restNs;
    // Policies load only models with waiting requests: if every request were refused, this model would never be loaded.
    if (this.cluster.held.count(model) === 0 && restNs < Number.POSITIVE_INFINITY) return true;
    return nowNs + restNs <= requests.arrivalNs[slot] + requests.sloNs[slot];
  }

  private queuedBefore(slot: number, model: number): number {
    const { policy } = this;
    return policy.queuedBefore === undefined ? policy.queued(model) : policy.queuedBefore(slot);
  }
}
