import { LANE_NAMES, type Lane } from '../../core/action.js';
import { NS_PER_US } from '../../core/units.js';
import { processNames, type TraceEvent, threadNames } from '../../metrics/trace-file.js';
import { ActionEvents } from './action-events.js';
import { requestEvents, stepEvents } from './decision-events.js';
import type { OperatorRun } from './operator-profile.js';
import type { Recording } from './recording.js';
import { CONTROLLER_PID, DECISIONS, gpuPid, instant, laneTrack } from './tracks.js';

export interface Timeline {
  readonly recording: Recording;
  /** When the recording ended. */
  readonly untilNs: number;
  /** Of each INFER, by its id; used up. */
  readonly operators: Map<number, OperatorRun[]>;
  /** Names of the models, and of the GPUs for people. */
  readonly models: readonly string[];
  readonly gpus: readonly string[];
}

/**
 * All events of a timeline. What encloses others comes before them, and what an arrow starts from before the arrow:
 * viewers sort by time and keep this order where times are equal.
 */
export function* timelineEvents(timeline: Timeline): Generator<TraceEvent> {
  const { recording, untilNs, models, gpus, operators } = timeline;
  yield* processNames(CONTROLLER_PID, 'controller', 0);
  yield* threadNames(CONTROLLER_PID, DECISIONS.tid, 'decisions', 0);
  for (let gpu = 0; gpu < gpus.length; gpu++) yield* namesOf(gpu, gpus[gpu]);
  yield* stepEvents(recording);
  yield* requestEvents(recording, models);
  const actions = new ActionEvents(recording, models, operators, untilNs);
  yield* actions.events();
  yield instant(DECISIONS, 'end of recording', 'recording', untilNs, {
    operatorsMovedUs: Math.round(actions.operatorTracks.mostMovedNs / NS_PER_US),
    infersWithoutSlice: operators.size,
  });
}

function* namesOf(gpu: number, name: string): Generator<TraceEvent> {
  yield* processNames(gpuPid(gpu), name, gpu + 1);
  for (let lane = 0; lane < LANE_NAMES.length; lane++) {
    yield* threadNames(gpuPid(gpu), laneTrack(gpu, lane as Lane).tid, LANE_NAMES[lane], lane);
  }
}
