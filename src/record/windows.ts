import { NS_PER_S } from '../base/units.js';
import { type Action, LANE_EXEC, LANE_WEIGHTS } from '../core/action.js';
import { OUTCOME_LATE, OUTCOME_OK, type Outcome } from '../core/request.js';
import { TimeBins } from './bins.js';
import { type Counted, ratioOf } from './counted.js';
import { Histogram, merged } from './histogram.js';
import { percentilesMs } from './latency.js';
import type { RunWindow } from './results.js';

const MOST_WINDOWS = 100;
/** Shortest window: in less time, a percentile would rest on few requests. */
const LEAST_NS = NS_PER_S;

/** GPUs that come and go: time in service between two instants, summed over them. */
interface InService {
  onNs(fromNs: number, toNs: number): number;
}

type Latencies = Pick<RunWindow, 'p99Ms' | 'executedP50Ms' | 'executedP99Ms'>;

const NONE: Latencies = { p99Ms: null, executedP50Ms: null, executedP99Ms: null };

/** Latencies are within 0.2 %. */
const BITS = 8;

/** Windows of a run, also after its nominal end. */
export class WindowTally {
  readonly bins: TimeBins;
  /** By time of arrival. */
  readonly offered: Float64Array;
  /** By time of sending. */
  readonly loads: Float64Array;
  /** By time of answer, requests of the warm-up included, since rates would otherwise start with a gap. */
  private readonly ok: Float64Array;
  private readonly failed: Float64Array;
  /** Busy time by lane, summed over GPUs. */
  private readonly busyNs: readonly Float64Array[];
  private readonly latencies: Latencies[] = [];
  private current = 0;
  private endNs: number;
  /** Latencies of the current window. */
  private readonly inTime = new Histogram(BITS);
  private readonly late = new Histogram(BITS);

  constructor({ warmupNs, durationNs }: Counted) {
    const fitting = Math.floor((durationNs - warmupNs) / LEAST_NS);
    this.bins = new TimeBins(warmupNs, durationNs, Math.min(MOST_WINDOWS, fitting));
    const [offered, loads, ok, failed, ...busyNs] = Array.from({ length: 6 }, () => this.bins.counter());
    [this.offered, this.loads, this.ok, this.failed, this.busyNs] = [offered, loads, ok, failed, busyNs];
    this.endNs = this.bins.count === 0 ? Number.POSITIVE_INFINITY : this.bins.beginNs(1);
  }

  answered(outcome: Outcome, nowNs: number, latencyNs: number): void {
    if (nowNs < this.bins.fromNs) return;
    if (nowNs >= this.endNs) this.advance(nowNs);
    (outcome === OUTCOME_OK ? this.ok : this.failed)[this.current]++;
    if (outcome === OUTCOME_OK) this.inTime.record(latencyNs);
    else if (outcome === OUTCOME_LATE) this.late.record(latencyNs);
  }

  /** Adds the time of an action to the windows in which it ran. */
  addBusy(lane: number, { beginNs, endNs }: Action): void {
    const { bins } = this;
    const busyNs = this.busyNs[lane];
    for (let i = bins.indexOf(Math.max(beginNs, bins.fromNs)); i < busyNs.length; i++) {
      const fromNs = Math.max(beginNs, bins.beginNs(i));
      if (fromNs >= endNs) return;
      busyNs[i] += Math.min(endNs, bins.beginNs(i + 1)) - fromNs;
    }
  }

  /**
   * Windows of the run so far; a single empty one if it has no span. `gpus`: their number, or those in service over
   * time; null: none was seen.
   */
  rows(gpus: number | InService | null): RunWindow[] {
    const { bins, offered, ok, failed, loads, busyNs } = this;
    const latencies = this.currentLatencies();
    const widthNs = bins.count === 0 ? 0 : bins.widthNs;
    const perSecond = (counts: Float64Array, i: number) => ratioOf(counts[i], widthNs / NS_PER_S);
    const lengths = [offered, ok, failed].map((counts) => counts.findLastIndex((count) => count > 0) + 1);
    return Array.from({ length: bins.count === 0 ? 1 : Math.max(bins.count, ...lengths) }, (_, i) => {
      const fromNs = bins.beginNs(i);
      const toNs = widthNs === 0 ? fromNs : bins.beginNs(i + 1);
      const onNs = typeof gpus === 'number' ? gpus * widthNs : (gpus?.onNs(fromNs, toNs) ?? 0);
      const scheduler = {
        execUtilization: ratioOf(busyNs[LANE_EXEC][i], onNs),
        weightsUtilization: ratioOf(busyNs[LANE_WEIGHTS][i], onNs),
        loads: loads[i],
      };
      return {
        beginSeconds: fromNs / NS_PER_S,
        endSeconds: toNs / NS_PER_S,
        offeredRps: perSecond(offered, i),
        goodputRps: perSecond(ok, i),
        failedRps: perSecond(failed, i),
        ...(i === this.current ? latencies : (this.latencies[i] ?? NONE)),
        ...(gpus === null ? {} : scheduler),
      };
    });
  }

  /** Advances to the window of `nowNs`. */
  private advance(nowNs: number): void {
    const { bins } = this;
    this.latencies[this.current] = this.currentLatencies();
    this.inTime.clear();
    this.late.clear();
    this.current = Math.max(this.current + 1, bins.indexOf(nowNs));
    this.endNs = this.current + 1 < bins.length ? bins.beginNs(this.current + 1) : Number.POSITIVE_INFINITY;
  }

  private currentLatencies(): Latencies {
    const { inTime: ok, late } = this;
    const executed = late.count === 0 ? ok : merged([ok, late], BITS);
    const offered = this.ok[this.current] + this.failed[this.current];
    const [p50, p99] = percentilesMs([50, 99], { ok, offered, executed });
    return { p99Ms: p99.offeredMs, executedP50Ms: p50.executedMs, executedP99Ms: p99.executedMs };
  }
}
