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
import type { ActionRow, Recording } from './recording.js';

/** Shorter actions have no visible parts. */
const SHORTEST_NS = NS_PER_US;

/** An action as displayed. */
interface Shown extends ActionRow {
  readonly lane: Lane;
  readonly track: Track;
  readonly title: string;
  readonly args: TimelineEvent['args'];
}

/** Lanes of the GPUs: each action with its time, parts, window, and the decision it came from. */
export class ActionEvents {
  /** By GPU and lane: end of the last action shown. */
  private readonly endsNs: number[] = [];

  constructor(
    private readonly recording: Recording,
    private readonly models: readonly string[],
    /** End at which infinite windows are drawn. */
    private readonly untilNs: number,
  ) {}

  *events(): Generator<TimelineEvent> {
    for (const row of this.recording.actions.rows()) {
      const kind = row.kind as ActionKind;
      const lane = laneOf({ kind });
      const track = laneTrack(row.gpu, lane);
      const title = titleOf(row, this.models[row.model]);
      const action: Shown = { ...row, lane, track, title, args: argsOf(row) };
      const isWork = kind === LOAD || kind === INFER;
      if (isWork && (row.end > row.begin || row.status === STATUS_OK)) yield* this.laneEvents(action);
      else yield instant(track, title, ACTION_NAMES[kind], row.begin, action.args);
      if (isWork) yield* this.windowEvents(action);
    }
  }

  private *laneEvents(action: Shown): Generator<TimelineEvent> {
    const { track, title, gpu, lane, kind, args } = action;
    // Results of one lane come in the order in which they ran; clocks of workers have an error.
    const at = gpu * 2 + lane;
    const beginNs = Math.max(action.begin, this.endsNs[at] ?? 0);
    const endNs = Math.max(beginNs + GAP_NS, action.end);
    this.endsNs[at] = endNs;
    yield slice(track, title, ACTION_NAMES[kind], beginNs, endNs - GAP_NS, args);
    yield* this.arrowTo(action, beginNs);
    if (kind === INFER) yield* this.partsOf(action, beginNs, endNs - GAP_NS);
  }

  /** Stages of an INFER on the device; empty if unknown, as for a simulated one. */
  private *partsOf(
    { track, copyIn, copyOut }: Shown,
    beginNs: number,
    endNs: number,
  ): Generator<TimelineEvent> {
    if (copyIn + copyOut === 0) return;
    if (endNs - beginNs < SHORTEST_NS) return;
    const lastNs = endNs - GAP_NS;
    const runNs = Math.min(beginNs + copyIn, lastNs);
    const ranNs = Math.max(runNs, lastNs - copyOut);
    if (copyIn > 0) yield slice(track, 'copy-in', 'stage', beginNs, runNs - GAP_NS, undefined);
    yield slice(track, 'run', 'stage', runNs, ranNs - GAP_NS, undefined);
    if (copyOut > 0) yield slice(track, 'copy-out', 'stage', ranNs, lastNs, undefined);
  }

  private *arrowTo({ id, step, track }: Shown, beginNs: number): Generator<TimelineEvent> {
    const { steps } = this.recording;
    if (step < 0 || step >= steps.count) return;
    const sentNs = steps.row(step).begin;
    // An arrow can't point back in time, as it might by the error of a worker's clock.
    if (sentNs < beginNs)
      yield* arrow('sent', id, { ...DECISIONS, atNs: sentNs }, { ...track, atNs: beginNs });
  }

  /** Window of an action: not before it was sent; drawn at most to the end of the recording. */
  private *windowEvents(action: Shown): Generator<TimelineEvent> {
    const { id, gpu, lane, title, earliest, latest, sent, end } = action;
    const endNs = Math.min(latest, Math.max(this.untilNs, end));
    yield* windowSpan(gpu, lane, id, Math.max(earliest, sent), endNs, { action: id, what: title });
  }
}

function argsOf(row: ActionRow): TimelineEvent['args'] {
  return {
    action: row.id,
    status: statusName(row.status),
    ...(row.kind === INFER ? { requests: row.count } : {}),
    sentMs: row.sent / NS_PER_MS,
    earliestMs: row.earliest / NS_PER_MS,
    ...(row.latest === Number.POSITIVE_INFINITY ? {} : { latestMs: row.latest / NS_PER_MS }),
    beginMs: row.begin / NS_PER_MS,
    expectedMs: row.expected / NS_PER_MS,
  };
}

function titleOf({ kind, batch }: ActionRow, model: string): string {
  if (kind === INFER) return `${model} ×${batch}`;
  return kind === ABORT ? 'ABORT' : `${ACTION_NAMES[kind]} ${model}`;
}
