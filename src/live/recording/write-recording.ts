import { setImmediate } from 'node:timers/promises';
import { type TraceFacts, TraceFile } from '../../metrics/trace-file.js';
import type { OperatorRun } from './operator-profile.js';
import { type Timeline, timelineEvents } from './timeline-events.js';

/** Written at a time: a fraction of a millisecond. In between the server goes on. */
const EVENTS_A_TURN = 64;
const OPERATORS_A_TURN = 4096;

/**
 * Writes a timeline for Perfetto while the server goes on with its work; the file is there when it is complete.
 * Resolves with the number of its events. Throws `E_FILE_WRITE`.
 */
export async function writeTimeline(
  path: string,
  timeline: Omit<Timeline, 'operators'>,
  operators: readonly OperatorRun[],
  facts: TraceFacts,
): Promise<number> {
  const byAction = await groupByAction(operators);
  const file = new TraceFile(path, facts);
  try {
    for (const event of timelineEvents({ ...timeline, operators: byAction })) {
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
