import { grown } from '../base/grown.js';
import { NS_PER_S } from '../base/units.js';
import { Estimates } from './estimates.js';
import { timesOfBucket } from './lengths.js';
import { type ModelSpec, timesOn } from './model.js';

/** Age from which a model's measurements may be forgotten. */
const STALE_NS = NS_PER_S;

/** Expected INFER and LOAD times on the GPUs of one kind, at nominal clock. */
export class KindEstimates {
  /** By row: one for each batch size of each model. */
  readonly exec: Estimates;
  /** By model. */
  readonly load: Estimates;
  /** By model: end of its last measured action. */
  private measuredNs: Float64Array;

  constructor(
    private readonly kind: number,
    models: number,
    rows: number,
  ) {
    this.exec = new Estimates(rows);
    this.load = new Estimates(models);
    this.measuredNs = new Float64Array(models);
  }

  /** Resets the model, whose rows begin at `row`, to its profile; 1 bucket: times of the longest length. */
  restart(model: number, spec: ModelSpec, row: number, buckets: number): void {
    const times = timesOn(spec, this.kind);
    this.load.restart(model, times.loadNs);
    for (let bucket = 0; bucket < buckets; bucket++) {
      const execNs = buckets === 1 ? times.execNs : timesOfBucket(times, bucket);
      const first = row + bucket * execNs.length;
      for (let b = 0; b < execNs.length; b++) this.exec.restart(first + b, execNs[b]);
    }
  }

  /** Appends models, up to this number, and rows for their INFERs. */
  grow(models: number, rows: number): void {
    this.exec.grow(rows);
    this.load.grow(models - this.load.rows);
    this.measuredNs = grown(this.measuredNs, models);
  }

  /** Clears the time of the last measurement, for a new model in the slot. */
  renew(model: number): void {
    this.measuredNs[model] = 0;
  }

  /** Records the duration of an INFER that ended at `endNs`. */
  measuredExec(model: number, row: number, durationNs: number, endNs: number): void {
    this.measuredNs[model] = endNs;
    this.exec.record(row, durationNs);
  }

  measuredLoad(model: number, durationNs: number, endNs: number): void {
    this.measuredNs[model] = endNs;
    this.load.record(model, durationNs);
  }

  /**
   * True if an INFER of the row would take longer than `leftNs` and the model has no recent measurement; this call then
   * counts as one.
   */
  isOutdated(model: number, row: number, leftNs: number, nowNs: number): boolean {
    if (this.exec.get(row) <= leftNs || nowNs - this.measuredNs[model] < STALE_NS) return false;
    this.measuredNs[model] = nowNs;
    return true;
  }
}
