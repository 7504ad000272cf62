import { NS_PER_S } from '../../base/units.js';
import type { Cluster } from '../../core/cluster.js';
import type { DemandForecast } from './demand-forecast.js';
import type { Durations } from './durations.js';
import type { Waiting } from './waiting.js';

/** Value of each copy beyond those that a model's traffic needs, relative to the one before. */
const ANOTHER_COPY = 0.1;
/** Horizon whose requests count as saved by keeping a model loaded; longer where a LOAD keeps INFERs waiting. */
const HORIZON_NS = NS_PER_S / 20;
const ONE_LANE_HORIZON_NS = NS_PER_S;
/** Value of a request that would miss its SLO in a cold start, relative to one that would not. */
const LOST_IF_COLD = 3;
/** Time after a model's last request for which its weight still counts. */
const RESTING_NS = 5 * NS_PER_S;
/** Copies beyond this many spare ones are worth nothing. */
const MOST_SPARE = 16;

const SPARE = Float64Array.from({ length: MOST_SPARE }, (_, copies) => ANOTHER_COPY ** copies);

/** Value of copies of models, by the weight of requests that they save, both waiting and expected. */
export class CopyWorth {
  /** By model, as of the last renewal: weight of requests expected within the horizon; copies its traffic needs. */
  private readonly expected: Float64Array;
  private readonly needed: Float64Array;
  /** By model: `LOST_IF_COLD` if its last request could not have waited for a LOAD, else 1. */
  private readonly lostIfCold: Float64Array;

  constructor(
    private readonly cluster: Cluster,
    private readonly durations: Durations,
    private readonly waiting: Waiting,
    private readonly demand: DemandForecast,
    /** By model: above 1 to compensate for poor service. */
    private readonly factor: Float64Array,
  ) {
    this.expected = new Float64Array(cluster.models.length);
    this.needed = new Float64Array(cluster.models.length);
    this.lostIfCold = new Float64Array(cluster.models.length).fill(1);
  }

  /** Records that the model was added. */
  came(model: number, nowNs: number): void {
    this.demand.came(model, nowNs);
  }

  /** Records a request; `waits`: its SLO allows it to wait for a LOAD. */
  arrived(model: number, nowNs: number, weight: number, waits: boolean): void {
    this.demand.arrived(model, nowNs, weight);
    this.lostIfCold[model] = waits ? 1 : LOST_IF_COLD;
  }

  /** Brings the rates up to date. */
  renew(nowNs: number): void {
    const { durations, cluster, waiting } = this;
    const horizonNs = cluster.oneLane ? ONE_LANE_HORIZON_NS : HORIZON_NS;
    for (let model = 0; model < this.expected.length; model++) {
      const rateRps = this.demand.rateRps(model, nowNs);
      const largest = durations.row[model] + durations.usable[model] - 1;
      const weight = this.demand.weight[model] * this.lostIfCold[model];
      this.expected[model] = (weight * rateRps * horizonNs) / NS_PER_S;
      this.needed[model] =
        waiting.lineCount[model] === 1
          ? (rateRps * durations.execNs[largest]) / durations.size[largest] / NS_PER_S
          : (rateRps * waiting.costNs[model]) / NS_PER_S;
    }
  }

  forget(model: number): void {
    this.expected[model] = 0;
    this.needed[model] = 0;
    this.lostIfCold[model] = 1;
    this.demand.forget(model);
  }

  /** Value of another copy if its LOAD began now. */
  toLoad(model: number, nowNs: number): number {
    let worth = this.expected[model];
    if (this.waiting.count[model] > 0) {
      const readyNs = nowNs + this.cluster.loadNs(model) + this.durations.shortestNs(model);
      worth += this.waiting.worthFrom(model, readyNs);
    }
    return worth === 0 ? 0 : this.share(model, this.cluster.held.count(model)) * worth;
  }

  /** Value of one of the existing copies. */
  toKeep(model: number): number {
    const worth = this.expected[model] + this.waiting.worth(model);
    return worth === 0 ? 0 : this.share(model, this.cluster.held.count(model) - 1) * worth;
  }

  /** Mean weight of the model's requests. */
  weightOf(model: number): number {
    return this.demand.weight[model];
  }

  /** Mean weight of the model's waiting requests, or of all if that is higher. */
  weightOfWaiting(model: number): number {
    return Math.max(this.weightOf(model), this.waiting.worth(model) / this.waiting.count[model]);
  }

  /** True if the model gets requests that weigh more than this. */
  outweighs(model: number, weight: number, nowNs: number): boolean {
    return this.demand.weight[model] > weight && nowNs - this.demand.lastNs[model] < RESTING_NS;
  }

  /**
   * Share of a model's requests that a copy serves in addition to `others`: all, unless those suffice for its traffic
   * and its queue.
   */
  private share(model: number, others: number): number {
    // NaN if SLOs differ: then only the traffic counts.
    const needed = Math.max(this.needed[model], this.waiting.workNs(model) / this.waiting.sloNs[model] || 0);
    const spare = Math.max(0, others - Math.floor(needed));
    return SPARE[Math.min(MOST_SPARE - 1, spare)] * this.factor[model];
  }
}
