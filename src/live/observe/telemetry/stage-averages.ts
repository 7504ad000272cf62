import { NS_PER_S } from '../../../base/units.js';
import { type Action, INFER, STATUS_OK } from '../../../core/action.js';
import { OUTCOME_LATE, OUTCOME_OK, type Outcome, type RequestTable } from '../../../core/request.js';
import type { ResultMessage } from '../../messages.js';
import { execNsOf } from '../exec-time.js';

/** Stages of a request: from its arrival to the start of its INFER, and the parts of that. */
export const STAGE_QUEUE = 0;
export const STAGE_COPY_IN = 1;
export const STAGE_EXEC = 2;
export const STAGE_COPY_OUT = 3;
export const STAGE_NAMES = ['queue', 'copy_in', 'exec', 'copy_out'] as const;
export type Stage = 0 | 1 | 2 | 3;

const STAGES = STAGE_NAMES.length;
const TIME_CONSTANT_NS = 10 * NS_PER_S;
/** Age from which a model's values are omitted. */
const FORGOTTEN_NS = 6 * TIME_CONSTANT_NS;

/** Moving averages, by model, of the time of executed requests in each stage. */
export class StageAverages {
  private readonly means: DecayingMeans;

  constructor(models: number) {
    this.means = new DecayingMeans(models * STAGES, TIME_CONSTANT_NS);
  }

  /** Records that the request in `slot` was answered; `action`: the INFER that served it. */
  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    action: Action | null,
  ): void {
    if (action === null || (outcome !== OUTCOME_OK && outcome !== OUTCOME_LATE)) return;
    const queueNs = Math.max(0, action.beginNs - requests.arrivalNs[slot]);
    this.means.add(action.model * STAGES + STAGE_QUEUE, queueNs, 1, nowNs);
  }

  /** Records the result of an action: each request of an INFER went through its stages. */
  ran(action: Action, result: Pick<ResultMessage, 'copyInNs' | 'copyOutNs'>): void {
    const { kind, status, model, count, endNs } = action;
    if (kind !== INFER || status !== STATUS_OK) return;
    const { copyInNs, copyOutNs } = result;
    const { means } = this;
    const first = model * STAGES;
    means.add(first + STAGE_COPY_IN, copyInNs, count, endNs);
    means.add(first + STAGE_EXEC, execNsOf(action, result), count, endNs);
    means.add(first + STAGE_COPY_OUT, copyOutNs, count, endNs);
  }

  /** Mean over models, ns. Null: no recent runs. */
  meanNs(models: readonly number[], stage: Stage, nowNs: number): number | null {
    const { means } = this;
    let sum = 0;
    let weight = 0;
    for (const model of models) {
      const series = model * STAGES + stage;
      const latestNs = means.latestNs(series);
      if (latestNs === 0 || nowNs - latestNs > FORGOTTEN_NS) continue;
      const share = means.weight(series, nowNs);
      sum += share * means.mean(series);
      weight += share;
    }
    return weight === 0 ? null : sum / weight;
  }
}

/**
 * Exponentially decaying means of many series: after one time constant a sample's weight is 1/e, about a third, of a
 * new one's. Adding a sample allocates nothing.
 */
export class DecayingMeans {
  /** By series: decayed sum and decayed count of the samples, as of `atNs`, the time of the latest. */
  private readonly sums: Float64Array;
  private readonly weights: Float64Array;
  private readonly atNs: Float64Array;

  constructor(
    series: number,
    private readonly timeConstantNs: number,
  ) {
    this.sums = new Float64Array(series);
    this.weights = new Float64Array(series);
    this.atNs = new Float64Array(series);
  }

  /** Adds `count` equal samples. Slightly older samples count as of the latest. */
  add(series: number, value: number, count: number, nowNs: number): void {
    const ageNs = nowNs - this.atNs[series];
    const decay = ageNs > 0 ? Math.exp(-ageNs / this.timeConstantNs) : 1;
    this.sums[series] = this.sums[series] * decay + value * count;
    this.weights[series] = this.weights[series] * decay + count;
    if (ageNs > 0) this.atNs[series] = nowNs;
  }

  /** Time of the latest sample; 0: none. */
  latestNs(series: number): number {
    return this.atNs[series];
  }

  /** Current weight of a series' samples. */
  weight(series: number, nowNs: number): number {
    return this.weights[series] * Math.exp(-Math.max(0, nowNs - this.atNs[series]) / this.timeConstantNs);
  }

  /** NaN: no samples. */
  mean(series: number): number {
    return this.sums[series] / this.weights[series];
  }
}
