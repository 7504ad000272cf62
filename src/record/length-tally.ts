import { bucketOf } from '../core/lengths.js';
import type { ModelSpec } from '../core/model.js';
import { OUTCOME_LATE, OUTCOME_OK, type Outcome, type RequestTable } from '../core/request.js';
import { Histogram } from './histogram.js';
import { latencyMs } from './latency.js';
import type { LengthFigures } from './results.js';

/** Figures of requests of one length. */
class OfLength {
  offered = 0;
  readonly ok = new Histogram();
  readonly executed = new Histogram();
}

/** Counts requests by the smallest length that fits their inputs, over all models that take several. */
export class LengthTally {
  private readonly byLength = new Map<number, OfLength>();
  /** By model and bucket. */
  private readonly rows: readonly (readonly OfLength[])[];

  private constructor(private readonly models: readonly ModelSpec[]) {
    const all = [...new Set(models.flatMap(({ lengths = [] }) => lengths))].sort((a, b) => a - b);
    for (const length of all) this.byLength.set(length, new OfLength());
    this.rows = models.map(({ lengths = [] }) => lengths.map((length) => this.byLength.get(length)!));
  }

  /** Null if no model takes several lengths. */
  static of(models: readonly ModelSpec[]): LengthTally | null {
    return models.every(({ lengths }) => lengths === undefined) ? null : new LengthTally(models);
  }

  answered({ model, length, arrivalNs }: RequestTable, slot: number, outcome: Outcome, nowNs: number): void {
    const spec = this.models[model[slot]];
    if (spec.lengths === undefined) return;
    // Independent of what the policy knows of it: comparisons of runs ask how long inputs fared.
    const row = this.rows[model[slot]][bucketOf(spec, length[slot])];
    row.offered++;
    const latencyNs = nowNs - arrivalNs[slot];
    if (outcome === OUTCOME_OK) row.ok.record(latencyNs);
    if (outcome === OUTCOME_OK || outcome === OUTCOME_LATE) row.executed.record(latencyNs);
  }

  /** Shortest first; lengths without requests are left out. */
  figures(): LengthFigures[] {
    return [...this.byLength].flatMap(([length, { offered, ok, executed }]) =>
      offered === 0
        ? []
        : [
            {
              length,
              offered,
              ok: ok.count,
              attainment: ok.count / offered,
              executedP50Ms: latencyMs(executed, executed.count).p50,
              executedP99Ms: latencyMs(executed, executed.count).p99,
            },
          ],
    );
  }
}
