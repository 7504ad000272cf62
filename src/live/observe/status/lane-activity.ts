import { NS_PER_S } from '../../../base/units.js';
import { type Action, INFER, LANE_NAMES, LOAD } from '../../../core/action.js';
import { laneOf } from '../../../core/worker.js';

/** Current actions and utilization of all lanes, from every order and every result. */
export class LaneActivity {
  /** By second, the last ones in a ring, and lane: time that it was busy, ns. */
  private readonly busyNs: readonly Float64Array[];
  private newestSecond = 0;
  /** By lane: orders without a result, in order of sending. The controller keeps the objects that long. */
  private readonly waiting: Action[][];
  /** By lane: end of the last one. */
  private readonly endedNs: Float64Array;

  constructor(
    gpus: number,
    /** True if LOAD and INFER share one lane. */
    readonly oneLane: boolean,
    /** Number of seconds kept, including the current one. */
    seconds: number,
  ) {
    const lanes = gpus * LANE_NAMES.length;
    this.busyNs = Array.from({ length: seconds }, () => new Float64Array(lanes));
    this.waiting = Array.from({ length: lanes }, () => []);
    this.endedNs = new Float64Array(lanes);
  }

  decided(action: Action): void {
    if (takesTime(action)) this.waiting[this.laneIndex(action)].push(action);
  }

  completed(action: Action): void {
    if (!takesTime(action)) return;
    const lane = this.laneIndex(action);
    const at = this.waiting[lane].indexOf(action);
    if (at >= 0) this.waiting[lane].splice(at, 1);
    if (action.endNs <= action.beginNs) return;
    this.addSpan(lane, action.beginNs, action.endNs);
    this.endedNs[lane] = Math.max(this.endedNs[lane], action.endNs);
  }

  /** Order that a lane should be running: the first whose window is open. Only workers know for sure. */
  running(gpu: number, lane: number, nowNs: number): Action | null {
    const [first] = this.waiting[gpu * LANE_NAMES.length + lane];
    return first !== undefined && first.earliestNs <= nowNs ? first : null;
  }

  /** Share of the seconds from `fromSecond` up to now in which a lane was busy, including what it should be running. */
  share(gpu: number, lane: number, fromSecond: number, nowNs: number): number {
    const { busyNs, newestSecond } = this;
    const index = gpu * LANE_NAMES.length + lane;
    const fromNs = fromSecond * NS_PER_S;
    const running = this.running(gpu, lane, nowNs);
    let ns = 0;
    if (running !== null) {
      const begunNs = Math.max(running.earliestNs, running.sentNs, this.endedNs[index], fromNs);
      ns = Math.max(0, nowNs - begunNs);
    }
    const oldest = Math.max(fromSecond, newestSecond - busyNs.length + 1);
    for (let second = oldest; second <= newestSecond; second++) ns += busyNs[second % busyNs.length][index];
    return nowNs > fromNs ? Math.min(1, ns / (nowNs - fromNs)) : 0;
  }

  /** Adds a span to its seconds, as far as they are kept. */
  private addSpan(lane: number, beginNs: number, endNs: number): void {
    const { busyNs } = this;
    for (let fromNs = Math.max(0, beginNs); fromNs < endNs; ) {
      const second = Math.floor(fromNs / NS_PER_S);
      const toNs = Math.min(endNs, (second + 1) * NS_PER_S);
      this.newestSecond = Math.max(this.newestSecond, second - busyNs.length);
      while (this.newestSecond < second) busyNs[++this.newestSecond % busyNs.length].fill(0);
      if (second > this.newestSecond - busyNs.length) busyNs[second % busyNs.length][lane] += toNs - fromNs;
      fromNs = toNs;
    }
  }

  private laneIndex(action: Action): number {
    return action.gpu * LANE_NAMES.length + (this.oneLane ? 0 : laneOf(action));
  }
}

function takesTime({ kind }: Action): boolean {
  return kind === INFER || kind === LOAD;
}
