import { NS_PER_US } from '../../base/units.js';
import {
  DECISIONS,
  gpuNames,
  instant,
  processNames,
  type TimelineEvent,
  trackNames,
} from '../../record/timeline-events.js';
import type { OperatorRun } from '../operator-runs.js';
import { ActionEvents } from './action-events.js';
import { requestEvents, stepEvents } from './decision-events.js';
import type { Recording } from './recording.js';

/** Contents of a recording file. */
export interface RecordedTimeline {
  readonly recording: Recording;
  /** End of the recording. */
  readonly untilNs: number;
  /** By id of the INFER; consumed. */
  readonly operators: Map<number, OperatorRun[]>;
  /** Names of the models, and of the GPUs for people. */
  readonly models: readonly string[];
  readonly gpus: readonly string[];
}

/**
 * All events of a recording. Enclosing events precede enclosed ones, and the source of an arrow precedes the arrow:
 * viewers sort by time and keep this order for equal times.
 */
export function* recordingEvents(timeline: RecordedTimeline): Generator<TimelineEvent> {
  const { recording, untilNs, models, gpus, operators } = timeline;
  yield* processNames(DECISIONS.pid, 'controller', 0);
  yield* trackNames(DECISIONS, 'decisions', 0);
  for (let gpu = 0; gpu < gpus.length; gpu++) yield* gpuNames(gpu, gpus[gpu]);
  yield* stepEvents(recording);
  yield* requestEvents(recording, models);
  const actions = new ActionEvents(recording, models, operators, untilNs);
  yield* actions.events();
  yield instant(DECISIONS, 'end of recording', 'recording', untilNs, {
    operatorsMovedUs: Math.round(actions.operatorTracks.mostMovedNs / NS_PER_US),
    infersWithoutSlice: operators.size,
  });
}
