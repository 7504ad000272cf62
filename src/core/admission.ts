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
    const { requests, policy } = this;
    const model = requests.model[slot];
    const queued = policy.queuedBefore === undefined ? policy.queued(model) : policy.queuedBefore(slot);
    const restNs = predictLatencyNs(this.cluster, model, queued, nowNs, requests.bucket[slot]);
    const latencyNs = nowNs - requests.arrivalNs[slot] + restNs;
    requests.predictedNs[slot] = latencyNs;
    if (latencyNs <= requests.sloNs[slot]) return true;
    // Policies load only models with waiting requests: if every request were refused, this model would never be loaded.
    if (this.cluster.held.count(model) === 0 && restNs < Number.POSITIVE_INFINITY) return true;
    // Refused requests are never measured, so one slow INFER would shut out its model for good.
    return this.cluster.forgetMeasurements(model, nowNs) && this.isInTime(slot, nowNs);
  }
}
