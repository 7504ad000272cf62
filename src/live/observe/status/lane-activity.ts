import { NS_PER_S } from '../../../base/units.js';
import { type Action, INFER, LANE_NAMES, LOAD } from '../../../core/action.js';
import { laneOf } from '../../../core/worker.js';
import { SecondBins } from './second-bins.js';

/** Current actions and utilization of all lanes, from every order and every result. */
export class LaneActivity {
  private readonly busy: SecondBins;
  /** By lane: orders without a result, in order of sending. The controller keeps the objects that long. */
  private readonly waiting: Action[][];
  /** By lane: end of the last one. */
  private readonly endedNs: Float64Array;

  constructor(
    gpus: number,
    /** True if LOAD and INFER share one lane. */
    readonly oneLane: boolean,
    seconds: number,
  ) {
    const lanes = gpus * LANE_NAMES.length;
    this.busy = new SecondBins(lanes, seconds);
    this.waiting = Array.from({ length: lanes }, () => []);
    this.endedNs = new Float64Array(lanes);
  }

  sent(action: Action): void {
    if (takesTime(action)) this.waiting[this.laneIndex(action)].push(action);
  }

  completed(action: Action): void {
    if (!takesTime(action)) return;
    const lane = this.laneIndex(action);
    const at = this.waiting[lane].indexOf(action);
    if (at >= 0) this.waiting[lane].splice(at, 1);
    if (action.endNs <= action.beginNs) return;
    this.busy.addSpan(lane, action.beginNs, action.endNs);
    this.endedNs[lane] = Math.max(this.endedNs[lane], action.endNs);
  }

  /** Order that a lane should be running: the first whose window is open. Only workers know for sure. */
  running(gpu: number, lane: number, nowNs: number): Action | null {
    const [first] = this.waiting[gpu * LANE_NAMES.length + lane];
    return first !== undefined && first.earliestNs <= nowNs ? first : null;
  }

  /** Share of the seconds from `fromSecond` up to now in which a lane was busy, including what it should be running. */
  share(gpu: number, lane: number, fromSecond: number, nowNs: number): number {
    const index = gpu * LANE_NAMES.length + lane;
    const fromNs = fromSecond * NS_PER_S;
    const running = this.running(gpu, lane, nowNs);
    const runningNs =
      running === null
        ? 0
        : nowNs - Math.max(running.earliestNs, running.sentNs, this.endedNs[index], fromNs);
    const busyNs = this.busy.sum(index, fromSecond, Math.floor(nowNs / NS_PER_S)) + Math.max(0, runningNs);
    return nowNs > fromNs ? Math.min(1, busyNs / (nowNs - fromNs)) : 0;
  }

  private laneIndex(action: Action): number {
    return action.gpu * LANE_NAMES.length + (this.oneLane ? 0 : laneOf(action));
  }
}

function takesTime({ kind }: Action): boolean {
  return kind === INFER || kind === LOAD;
}
