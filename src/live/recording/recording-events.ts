import { setImmediate } from 'node:timers/promises';
import { NS_PER_MS } from '../../base/units.js';
import { OUTCOME_NAMES } from '../../core/request.js';
import {
  DECISIONS,
  GAP_NS,
  gpuNames,
  instant,
  processNames,
  slice,
  span,
  type TimelineEvent,
  trackNames,
} from '../../record/timeline-events.js';
import { type TimelineFacts, TimelineFile } from '../../record/timeline-file.js';
import { ActionEvents } from './action-events.js';
import type { Recording } from './recording.js';

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
