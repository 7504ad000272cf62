import { NS_PER_S } from '../base/units.js';
import { type Action, LANE_EXEC, LANE_WEIGHTS } from '../core/action.js';
import type { Outcome } from '../core/request.js';
import { TimeBins } from './bins.js';
import { type Counted, ratioOf } from './counted.js';
import { PartTally } from './part-tally.js';
import type { RequestFigures, RunWindow } from './results.js';

const MOST_WINDOWS = 100;
/** Shortest window: in less time, a percentile would rest on few requests. */
const LEAST_NS = NS_PER_S;

/** GPUs that come and go: time in service between two instants, summed over them. */
interface InService {
  onNs(fromNs: number, toNs: number): number;
}

/** Latencies are within 0.2 %. */
const BITS = 8;

/** Windows of a run, also after its nominal end. */
export class WindowTally {
  readonly bins: TimeBins;
  /** By time of arrival. */
  readonly offered: Float64Array;
  /** By time of sending. */
  readonly loads: Float64Array;
  /** Busy time by lane, summed over GPUs. */
  private readonly busyNs: readonly Float64Array[];
  /** Figures of past windows by time of answer, requests of the warm-up included: rates would else start with a gap. */
  private readonly past: RequestFigures[] = [];
  private current = 0;
  private endNs: number;
  /** Answers in the current window. */
  private answers = new PartTally(1, BITS);

  constructor({ warmupNs, durationNs }: Counted) {
    const fitting = Math.floor((durationNs - warmupNs) / LEAST_NS);
    this.bins = new TimeBins(warmupNs, durationNs, Math.min(MOST_WINDOWS, fitting));
    const [offered, loads, ...busyNs] = Array.from({ length: 4 }, () => this.bins.counter());
    [this.offered, this.loads, this.busyNs] = [offered, loads, busyNs];
    this.endNs = this.bins.count === 0 ? Number.POSITIVE_INFINITY : this.bins.beginNs(1);
  }

  answered(outcome: Outcome, nowNs: number, latencyNs: number): void {
    if (nowNs < this.bins.fromNs) return;
    if (nowNs >= this.endNs) this.advance(nowNs);
    this.answers.add(0, outcome, latencyNs, -1, false);
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
    const { bins, offered, loads, busyNs, current } = this;
    const widthNs = bins.count === 0 ? 0 : bins.widthNs;
    const seconds = widthNs / NS_PER_S;
    const none = this.figures(new PartTally(1, BITS));
    const latest = this.figures(this.answers);
    const lastOffered = offered.findLastIndex((count) => count > 0);
    const length = bins.count === 0 ? 1 : Math.max(bins.count, current + 1, lastOffered + 1);
    return Array.from({ length }, (_, i) => {
      const fromNs = bins.beginNs(i);
      const toNs = widthNs === 0 ? fromNs : bins.beginNs(i + 1);
      const onNs = typeof gpus === 'number' ? gpus * widthNs : (gpus?.onNs(fromNs, toNs) ?? 0);
      const { requests, goodputRps, offeredLatencyMs, executedLatencyMs } =
        i === current ? latest : (this.past[i] ?? none);
      return {
        beginSeconds: fromNs / NS_PER_S,
        endSeconds: toNs / NS_PER_S,
        offeredRps: ratioOf(offered[i], seconds),
        goodputRps,
        failedRps: ratioOf(requests.offered - requests.ok, seconds),
        p99Ms: offeredLatencyMs.p99,
        executedP50Ms: executedLatencyMs.p50,
        executedP99Ms: executedLatencyMs.p99,
        ...(gpus !== null && {
          execUtilization: ratioOf(busyNs[LANE_EXEC][i], onNs),
          weightsUtilization: ratioOf(busyNs[LANE_WEIGHTS][i], onNs),
          loads: loads[i],
        }),
      };
    });
  }

  /** Advances to the window of `nowNs`. */
  private advance(nowNs: number): void {
    const { bins } = this;
    this.past[this.current] = this.figures(this.answers);
    this.answers = new PartTally(1, BITS);
    this.current = Math.max(this.current + 1, bins.indexOf(nowNs));
    this.endNs = this.current + 1 < bins.length ? bins.beginNs(this.current + 1) : Number.POSITIVE_INFINITY;
  }

  private figures(answers: PartTally): RequestFigures {
    const { count, widthNs } = this.bins;
    return answers.figures(0, { warmupNs: 0, durationNs: count === 0 ? 0 : widthNs }, false);
  }
}
