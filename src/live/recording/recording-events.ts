import { setImmediate } from 'node:timers/promises';
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
import { OUTCOME_NAMES } from '../../core/request.js';
import { statusName } from '../../core/status-names.js';
import { laneOf } from '../../core/worker.js';
import {
  arrow,
  DECISIONS,
  GAP_NS,
  gpuNames,
  instant,
  laneTrack,
  processNames,
  slice,
  span,
  type TimelineEvent,
  type Track,
  trackNames,
  windowSpan,
} from '../../record/timeline-events.js';
import { type TimelineFacts, TimelineFile } from '../../record/timeline-file.js';
import type { ActionRow, Recording } from './recording.js';

/** Events written at a time: a fraction of a millisecond, so that the server can continue in between. */
const EVENTS_A_TURN = 64;
/** Colours in chrome://tracing, by outcome; Perfetto colours by name. */
const COLOURS = ['good', 'bad', 'terrible', 'yellow', 'black', 'grey'];

/** Contents of a recording file. */
interface RecordedTimeline {
  readonly recording: Recording;
  /** End of the recording. */
  readonly untilNs: number;
  /** Names of the models, and of the GPUs for people. */
  readonly models: readonly string[];
  readonly gpus: readonly string[];
}

/**
 * Writes a recording while the server continues its work; the file appears when it is complete. Resolves with the number of
 * its events. Throws `E_FILE_WRITE`.
 */
export async function writeRecording(
  path: string,
  timeline: RecordedTimeline,
  facts: TimelineFacts,
): Promise<number> {
  const file = new TimelineFile(path, facts);
  try {
    for (const event of eventsOf(timeline)) {
      file.write(event);
      if (file.events % EVENTS_A_TURN === 0) await setImmediate();
    }
    file.close();
  } catch (error) {
    file.discard();
    throw error;
  }
  return file.events;
}

/**
 * All events of a recording. Enclosing events precede enclosed ones, and the source of an arrow precedes the arrow: viewers
 * sort by time and keep this order for equal times.
 */
function* eventsOf({ recording, untilNs, models, gpus }: RecordedTimeline): Generator<TimelineEvent> {
  yield* processNames(DECISIONS.pid, 'controller', 0);
  yield* trackNames(DECISIONS, 'decisions', 0);
  for (let gpu = 0; gpu < gpus.length; gpu++) yield* gpuNames(gpu, gpus[gpu]);
  for (const { begin, took, arrived, results, answered, sent } of recording.steps.rows())
    yield slice(DECISIONS, 'step', 'decision', begin, begin + took - GAP_NS, {
      ...{ arrived, results, answered, sent },
    });
  yield* requestEvents(recording, models);
  yield* new ActionEvents(recording, models, untilNs).events();
  yield instant(DECISIONS, 'end of recording', 'recording', untilNs, undefined);
}

/** Requests from arrival to answer; they overlap. */
function* requestEvents(
  { requests, traces }: Recording,
  models: readonly string[],
): Generator<TimelineEvent> {
  for (const { id, model, outcome, action, arrival, slo, copies, answered } of requests.rows()) {
    const traceparent = traces.get(id);
    const args = {
      model: models[model],
      outcome: OUTCOME_NAMES[outcome],
      sloMs: slo / NS_PER_MS,
      cold: copies === 0,
      ...(action < 0 ? {} : { action }),
      ...(traceparent === undefined ? {} : { traceparent }),
    };
    const name = `request ${OUTCOME_NAMES[outcome]}`;
    yield* span(DECISIONS, name, 'request', id, arrival, answered, { cname: COLOURS[outcome], args });
  }
}

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
class ActionEvents {
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
