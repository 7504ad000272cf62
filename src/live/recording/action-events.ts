import { NS_PER_MS, NS_PER_US } from '../../base/units.js';
import {
  ABORT,
  ACTION_NAMES,
  type ActionKind,
  INFER,
  type Lane,
  LOAD,
  STATUS_OK,
} from '../../core/action.js';
import { statusName } from '../../core/status-names.js';
import { laneOf } from '../../core/worker.js';
import type { TimelineEvent } from '../../record/timeline-events.js';
import {
  arrow,
  DECISIONS,
  GAP_NS,
  instant,
  laneTrack,
  slice,
  type Track,
  windowSpan,
} from '../../record/timeline-events.js';
import type { OperatorRun } from '../operator-runs.js';
import { OperatorTracks } from './operator-tracks.js';
import { ACTION, type Recording, STEP } from './recording.js';

/** Shorter actions have no visible parts. */
const SHORTEST_NS = NS_PER_US;

/** Displayed data of one action. */
interface Shown {
  readonly row: number;
  readonly id: number;
  readonly kind: ActionKind;
  readonly gpu: number;
  readonly lane: Lane;
  readonly track: Track;
  readonly title: string;
}

/** Lanes of the GPUs: each action with its time, parts, window, and the decision it came from. */
export class ActionEvents {
  readonly operatorTracks = new OperatorTracks();
  /** By GPU and lane: end of the last action shown. */
  private readonly endsNs: number[] = [];

  /** `operators`: those of each INFER by its id; consumed as they are shown. */
  constructor(
    private readonly recording: Recording,
    private readonly models: readonly string[],
    private readonly operators: Map<number, OperatorRun[]>,
    /** End at which infinite windows are drawn. */
    private readonly untilNs: number,
  ) {}

  *events(): Generator<TimelineEvent> {
    for (let row = 0; row < this.recording.actions.count; row++) yield* this.eventsOf(this.shown(row));
  }

  private *eventsOf(action: Shown): Generator<TimelineEvent> {
    const { track, title, kind } = action;
    const isWork = kind === LOAD || kind === INFER;
    const beginNs = this.get(action, ACTION.begin);
    const tookTime = this.get(action, ACTION.end) > beginNs;
    if (isWork && (tookTime || this.get(action, ACTION.status) === STATUS_OK)) {
      yield* this.laneEvents(action);
    } else {
      yield instant(track, title, kindName(action), beginNs, this.args(action));
    }
    if (isWork) yield* this.windowEvents(action);
  }

  private *laneEvents(action: Shown): Generator<TimelineEvent> {
    const { track, title, gpu, lane } = action;
    // Results of one lane come in the order in which they ran; clocks of workers have an error.
    const at = gpu * 2 + lane;
    const beginNs = Math.max(this.get(action, ACTION.begin), this.endsNs[at] ?? 0);
    const endNs = Math.max(beginNs + GAP_NS, this.get(action, ACTION.end));
    this.endsNs[at] = endNs;
    yield slice(track, title, kindName(action), beginNs, endNs - GAP_NS, this.args(action));
    yield* this.arrowTo(action, beginNs);
    if (action.kind === INFER) yield* this.partsOf(action, beginNs, endNs - GAP_NS);
  }

  /** Stages of an INFER on the device; empty if unknown, as for a simulated one. */
  private *partsOf(action: Shown, beginNs: number, endNs: number): Generator<TimelineEvent> {
    const { id, gpu, track } = action;
    const copyInNs = this.get(action, ACTION.copyIn);
    const copyOutNs = this.get(action, ACTION.copyOut);
    const operators = this.operators.get(id);
    if (copyInNs + copyOutNs === 0 && operators === undefined) return;
    if (endNs - beginNs < SHORTEST_NS) return;
    const lastNs = endNs - GAP_NS;
    const run = { beginNs: Math.min(beginNs + copyInNs, lastNs), endNs: 0 };
    run.endNs = Math.max(run.beginNs, lastNs - copyOutNs);
    if (copyInNs > 0) yield slice(track, 'copy-in', 'stage', beginNs, run.beginNs - GAP_NS, undefined);
    yield slice(track, 'run', 'stage', run.beginNs, run.endNs - GAP_NS, undefined);
    if (operators !== undefined) {
      this.operators.delete(id);
      yield* this.operatorTracks.place(
        gpu,
        track,
        { beginNs: run.beginNs, endNs: run.endNs - GAP_NS },
        operators,
      );
    }
    if (copyOutNs > 0) yield slice(track, 'copy-out', 'stage', run.endNs, lastNs, undefined);
  }

  private *arrowTo(action: Shown, beginNs: number): Generator<TimelineEvent> {
    const { steps } = this.recording;
    const step = this.get(action, ACTION.step);
    if (step < 0 || step >= steps.count) return;
    const sentNs = steps.get(step, STEP.begin);
    // An arrow can't point back in time, as it might by the error of a worker's clock.
    if (sentNs >= beginNs) return;
    yield* arrow('sent', action.id, { ...DECISIONS, atNs: sentNs }, { ...action.track, atNs: beginNs });
  }

  /** Window of an action: not before it was sent; drawn at most to the end of the recording. */
  private *windowEvents(action: Shown): Generator<TimelineEvent> {
    const beginNs = Math.max(this.get(action, ACTION.earliest), this.get(action, ACTION.sent));
    const endNs = Math.min(
      this.get(action, ACTION.latest),
      Math.max(this.untilNs, this.get(action, ACTION.end)),
    );
    const args = { action: action.id, what: action.title };
    yield* windowSpan(action.gpu, action.lane, action.id, beginNs, endNs, args);
  }

  private args(action: Shown): TimelineEvent['args'] {
    const ms = (column: number) => this.get(action, column) / NS_PER_MS;
    const latestMs = ms(ACTION.latest);
    return {
      action: action.id,
      status: statusName(this.get(action, ACTION.status)),
      ...(action.kind === INFER ? { requests: this.get(action, ACTION.count) } : {}),
      sentMs: ms(ACTION.sent),
      earliestMs: ms(ACTION.earliest),
      ...(latestMs === Number.POSITIVE_INFINITY ? {} : { latestMs }),
      beginMs: ms(ACTION.begin),
      expectedMs: ms(ACTION.expected),
    };
  }

  private shown(row: number): Shown {
    const { actions } = this.recording;
    const kind = actions.get(row, ACTION.kind) as ActionKind;
    const gpu = actions.get(row, ACTION.gpu);
    const lane = laneOf({ kind });
    const title = titleOf(kind, this.models[actions.get(row, ACTION.model)], actions.get(row, ACTION.batch));
    return { row, id: actions.get(row, ACTION.id), kind, gpu, lane, track: laneTrack(gpu, lane), title };
  }

  private get({ row }: Shown, column: number): number {
    return this.recording.actions.get(row, column);
  }
}

function kindName({ kind }: Shown): string {
  return ACTION_NAMES[kind];
}

function titleOf(kind: ActionKind, model: string, batchSize: number): string {
  if (kind === INFER) return `${model} ×${batchSize}`;
  return kind === ABORT ? 'ABORT' : `${ACTION_NAMES[kind]} ${model}`;
}
