import { setImmediate } from 'node:timers/promises';
import { type TimelineFacts, TimelineFile } from '../../record/timeline-file.js';
import type { OperatorRun } from '../operator-runs.js';
import { type RecordedTimeline, recordingEvents } from './recording-events.js';

/** Events written at a time: a fraction of a millisecond, so that the server can continue in between. */
const EVENTS_A_TURN = 64;
const OPERATORS_A_TURN = 4096;

/**
 * Writes a recording while the server continues its work; the file appears when it is complete. Resolves with the
 * number of its events. Throws `E_FILE_WRITE`.
 */
export async function writeRecording(
  path: string,
  timeline: Omit<RecordedTimeline, 'operators'>,
  operators: readonly OperatorRun[],
  facts: TimelineFacts,
): Promise<number> {
  const byAction = await groupByAction(operators);
  const file = new TimelineFile(path, facts);
  try {
    for (const event of recordingEvents({ ...timeline, operators: byAction })) {
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

async function groupByAction(operators: readonly OperatorRun[]): Promise<Map<number, OperatorRun[]>> {
  const groups = new Map<number, OperatorRun[]>();
  for (const [i, operator] of operators.entries()) {
    const group = groups.get(operator.action);
    if (group === undefined) groups.set(operator.action, [operator]);
    else group.push(operator);
    if (i % OPERATORS_A_TURN === OPERATORS_A_TURN - 1) await setImmediate();
  }
  return groups;
}
