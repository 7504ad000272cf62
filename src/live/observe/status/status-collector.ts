import { NS_PER_S } from '../../../base/units.js';
import { type Action, INFER, LANE_NAMES, LOAD } from '../../../core/action.js';
import type { ModelSpec } from '../../../core/model.js';
import type { RunObserver } from '../../../core/observer.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_LATE,
  OUTCOME_NAMES,
  OUTCOME_OK,
  type Outcome,
  type RequestTable,
} from '../../../core/request.js';
import { laneOf } from '../../../core/worker.js';
import { CauseFinder } from '../../../record/causes.js';
import type { ResultMessage } from '../../messages.js';
import { execNsOf } from '../model-statistics.js';

/** Length of the window of a status, unless more was answered in it than is kept. */
export const WINDOW_SECONDS = 5;
/** Answers that are kept: a status reads all of them, in a few milliseconds. */
const MOST_ANSWERS = 8_192;

/** Stages of an INFER. */
type Stages = Pick<ResultMessage, 'copyInNs' | 'copyOutNs'>;
const UNKNOWN: Stages = { copyInNs: 0, copyOutNs: 0 };

/** Collects the data of statuses. Adding an answer allocates nothing. */
export class StatusCollector implements RunObserver {
  /** Since the start, by outcome. */
  readonly totals = new Float64Array(OUTCOME_NAMES.length);
  readonly answers = new RecentAnswers();
  readonly lanes: LaneActivity;
  /** By number of a step in the core's request table: its name, and the number of its pipeline among the models. */
  readonly steps: { readonly name: string; readonly pipeline: number }[] = [];
  readonly causes: CauseFinder;
  /** Stages of the INFERs whose requests the next step answers. */
  private readonly stages = new Map<Action, Stages>();

  /** `models` is kept up to date. */
  constructor(cluster: {
    readonly models: readonly ModelSpec[];
    readonly gpus: number;
    readonly spareGpus?: number;
    readonly oneLane?: boolean;
  }) {
    const { models, gpus, spareGpus = 0, oneLane = false } = cluster;
    this.lanes = new LaneActivity(gpus + spareGpus, oneLane, WINDOW_SECONDS + 1);
    this.causes = new CauseFinder(models);
  }

  stepCame(step: number, name: string, pipeline: number): void {
    this.steps[step] = { name, pipeline };
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    copies: number,
    action: Action | null,
  ): void {
    // Those of a step are part of a pipeline's.
    if (requests.step[slot] <= 0) this.totals[outcome]++;
    const at = this.answers.add(requests, slot);
    const answers = this.answers.columns;
    const ran = action !== null && (outcome === OUTCOME_OK || outcome === OUTCOME_LATE) ? action : null;
    const stages = ran === null ? UNKNOWN : (this.stages.get(ran) ?? UNKNOWN);
    answers.answeredNs[at] = nowNs;
    answers.outcome[at] = outcome;
    answers.cause[at] = this.causes.indexOf(requests, slot, outcome, nowNs, copies);
    answers.gpu[at] = action === null ? -1 : action.gpu;
    // The requests of a batch share its time evenly.
    answers.gpuNs[at] = ran === null ? 0 : (ran.endNs - ran.beginNs) / ran.count;
    answers.infers[at] = ran === null ? 0 : 1 / ran.count;
    answers.queueNs[at] = ran === null ? 0 : Math.max(0, ran.beginNs - answers.arrivalNs[at]);
    answers.copyInNs[at] = stages.copyInNs;
    answers.execNs[at] = ran === null ? 0 : execNsOf(ran, stages);
    answers.copyOutNs[at] = stages.copyOutNs;
  }

  cancelled({ step }: RequestTable, slot: number): void {
    if (step[slot] <= 0) this.totals[OUTCOME_CANCELLED]++;
  }

  completed(action: Action, nowNs: number, _queued: number, copies: number): void {
    this.causes.completed(action, nowNs, copies);
    this.lanes.completed(action);
  }

  decided(action: Action): void {
    this.lanes.decided(action);
  }

  /** Records the result of an action: the step that follows answers its requests. */
  ran(action: Action, result: Stages): void {
    if (action.kind === INFER) this.stages.set(action, result);
  }

  stepped(): void {
    this.stages.clear();
  }
}

/** Columns of `RequestTable` that are kept of an answered request. */
const ASKED = [
  ...(['arrivalNs', 'arrivalCopies', 'user', 'model', 'requestClass', 'tenant', 'length', 'step'] as const),
  'accuracy' as const,
];
/** Quantities of executed requests that are summed: part of the time and number of INFERs, wait, and stages. */
export const SUMMED = ['gpuNs', 'infers', 'queueNs', 'copyInNs', 'execNs', 'copyOutNs'] as const;
/** Columns of its end; `cause`: index into `CAUSES`, −1 if answered in time; `gpu`: of its last INFER, −1 without any. */
const ENDED = ['answeredNs', 'outcome', 'cause', 'gpu', ...SUMMED] as const;
type Column = (typeof ASKED)[number] | (typeof ENDED)[number];

/** The latest answers as a struct of arrays, in fixed memory. */
class RecentAnswers {
  readonly columns = Object.fromEntries(
    [...ASKED, ...ENDED].map((column) => [column, new Float64Array(MOST_ANSWERS)]),
  ) as Readonly<Record<Column, Float64Array>>;
  private added = 0;

  /** Adds an answer in the place of the oldest. Returns its index: the caller sets how it ended. */
  add(requests: RequestTable, slot: number): number {
    const at = this.added++ % MOST_ANSWERS;
    const { columns } = this;
    columns.arrivalNs[at] = requests.arrivalNs[slot];
    columns.arrivalCopies[at] = requests.arrivalCopies[slot];
    columns.user[at] = requests.user[slot];
    columns.model[at] = requests.model[slot];
    columns.requestClass[at] = requests.requestClass[slot];
    columns.tenant[at] = requests.tenant[slot];
    columns.length[at] = requests.length[slot];
    columns.step[at] = requests.step[slot];
    columns.accuracy[at] = requests.accuracy[slot];
    return at;
  }

  /** Time since which no answer was lost. */
  get sinceNs(): number {
    const { answeredNs } = this.columns;
    return this.added <= MOST_ANSWERS ? Number.NEGATIVE_INFINITY : answeredNs[this.added % MOST_ANSWERS];
  }

  /** Calls `visit` with the index of each answer since `fromNs`. */
  each(fromNs: number, visit: (at: number) => void): void {
    const { answeredNs } = this.columns;
    for (let row = Math.max(0, this.added - MOST_ANSWERS); row < this.added; row++)
      if (answeredNs[row % MOST_ANSWERS] >= fromNs) visit(row % MOST_ANSWERS);
  }
}

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
