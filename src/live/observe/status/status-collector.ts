import { type Action, INFER } from '../../../core/action.js';
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
import { CauseFinder } from '../../../record/causes.js';
import type { SentRequests } from '../../../record/dimensions.js';
import type { ResultMessage } from '../../messages.js';
import { execNsOf } from '../model-statistics.js';
import { LaneActivity } from './lane-activity.js';
import { SecondBins } from './second-bins.js';

/** Length of the window of a status, unless more was answered in it than is kept. */
export const WINDOW_SECONDS = 5;
export const HISTORY_SECONDS = 60;
/** Answers that are kept: a status reads all of them, in a few milliseconds. */
const MOST_ANSWERS = 8_192;

/** Stages of an INFER. */
type Stages = Pick<ResultMessage, 'copyInNs' | 'copyOutNs'>;
const UNKNOWN: Stages = { copyInNs: 0, copyOutNs: 0 };

/** Series of the last minute: requests by the second of their arrival, once they are answered; answers. */
export const HISTORY = { arrived: 0, good: 1, failed: 2 } as const;

/** Collects the data of statuses. Adding an answer allocates nothing. */
export class StatusCollector implements RunObserver {
  /** Since the start, by outcome. */
  readonly totals = new Float64Array(OUTCOME_NAMES.length);
  readonly history = new SecondBins(3, HISTORY_SECONDS + 1);
  readonly answers = new RecentAnswers();
  readonly lanes: LaneActivity;
  /** By number of a step in the core's request table: its name, and the number of its pipeline among the models. */
  readonly steps: { readonly name: string; readonly pipeline: number }[] = [];
  causes: CauseFinder;
  /** Stages of the INFERs whose requests the next step answers. */
  private readonly stages = new Map<Action, Stages>();

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

  /** Attaches the models of the running controller, which come and go. */
  watch(models: readonly ModelSpec[]): void {
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
    const arrivalNs = requests.arrivalNs[slot];
    // Those of a step are part of a pipeline's.
    if (requests.step[slot] <= 0) {
      this.totals[outcome]++;
      this.history.add(HISTORY.arrived, arrivalNs, 1);
      this.history.add(outcome === OUTCOME_OK ? HISTORY.good : HISTORY.failed, nowNs, 1);
    }
    const { answers } = this;
    const at = answers.add(requests, slot, nowNs);
    const ran = action !== null && (outcome === OUTCOME_OK || outcome === OUTCOME_LATE) ? action : null;
    const stages = ran === null ? UNKNOWN : (this.stages.get(ran) ?? UNKNOWN);
    answers.outcome[at] = outcome;
    answers.cause[at] = this.causes.indexOf(requests, slot, outcome, nowNs, copies);
    answers.gpu[at] = action === null ? -1 : action.gpu;
    // The requests of a batch share its time evenly.
    answers.gpuNs[at] = ran === null ? 0 : (ran.endNs - ran.beginNs) / ran.count;
    answers.infers[at] = ran === null ? 0 : 1 / ran.count;
    answers.queueNs[at] = ran === null ? 0 : Math.max(0, ran.beginNs - arrivalNs);
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

  /** Records an action decided by the core. */
  sent(action: Action): void {
    this.lanes.sent(action);
  }

  /** Records the result of an action: the step that follows answers its requests. */
  ran(action: Action, result: Stages): void {
    if (action.kind === INFER) this.stages.set(action, result);
  }

  stepped(): void {
    this.stages.clear();
  }
}

/** The latest answers as a struct of arrays, in fixed memory: what `RequestTable` knew, and how it ended. */
class RecentAnswers implements SentRequests {
  readonly answeredNs = numbers();
  readonly arrivalNs = numbers();
  /** 0: no GPU held its model on arrival. */
  readonly arrivalCopies = numbers();
  readonly user = numbers();
  readonly model = numbers();
  readonly requestClass = numbers();
  readonly tenant = numbers();
  readonly length = numbers();
  readonly step = numbers();
  readonly accuracy = numbers();
  readonly outcome = numbers();
  /** Index into `CAUSES`; −1: answered in time. */
  readonly cause = numbers();
  /** GPU of its last INFER; −1: none. */
  readonly gpu = numbers();
  /** Its part of the time and of the number of INFERs, here and below of the one that executed it; 0: none did. */
  readonly gpuNs = numbers();
  readonly infers = numbers();
  /** Time until it began, and its stages. */
  readonly queueNs = numbers();
  readonly copyInNs = numbers();
  readonly execNs = numbers();
  readonly copyOutNs = numbers();
  private added = 0;

  /** Adds an answer in the place of the oldest. Returns its index: the caller sets how it ended. */
  add(requests: RequestTable, slot: number, nowNs: number): number {
    const at = this.added++ % MOST_ANSWERS;
    this.answeredNs[at] = nowNs;
    this.arrivalNs[at] = requests.arrivalNs[slot];
    this.arrivalCopies[at] = requests.arrivalCopies[slot];
    this.user[at] = requests.user[slot];
    this.model[at] = requests.model[slot];
    this.requestClass[at] = requests.requestClass[slot];
    this.tenant[at] = requests.tenant[slot];
    this.length[at] = requests.length[slot];
    this.step[at] = requests.step[slot];
    this.accuracy[at] = requests.accuracy[slot];
    return at;
  }

  /** Time since which no answer was lost. */
  get sinceNs(): number {
    return this.added <= MOST_ANSWERS ? Number.NEGATIVE_INFINITY : this.answeredNs[this.added % MOST_ANSWERS];
  }

  /** Calls `visit` with the index of each answer since `fromNs`. */
  each(fromNs: number, visit: (at: number) => void): void {
    for (let row = Math.max(0, this.added - MOST_ANSWERS); row < this.added; row++) {
      const at = row % MOST_ANSWERS;
      if (this.answeredNs[at] >= fromNs) visit(at);
    }
  }
}

function numbers(): Float64Array {
  return new Float64Array(MOST_ANSWERS);
}
