import { LANE_NAMES } from '../core/action.js';
import type { TimelineEntry } from './results.js';
import { processNames, type TraceEvent, type TraceFacts, TraceFile, threadNames } from './trace-file.js';

const US_PER_MS = 1000;

/**
 * Writes a timeline for Perfetto (ui.perfetto.dev) and chrome://tracing: one process a GPU, one track
 * a lane with the actions as they ran, and one track a lane with the windows in which they might
 * start; windows may overlap. Throws `E_FILE_WRITE`.
 *
 * Format: "Trace Event Format", JSON object form.
 */
export function writeChromeTrace(
  path: string,
  entries: readonly TimelineEntry[],
  facts: TraceFacts = {},
): void {
  const file = new TraceFile(path, facts);
  for (const gpu of new Set(entries.map((entry) => entry.gpu).sort((a, b) => a - b))) {
    for (const event of namesOf(gpu)) file.write(event);
  }
  entries.forEach((entry, index) => {
    file.write(actionEvent(entry));
    for (const event of windowEvents(entry, index)) file.write(event);
  });
  file.close();
}

/** Tells the viewer the names and the order of a GPU's tracks. */
function namesOf(gpu: number): TraceEvent[] {
  const pid = processOf(gpu);
  const lanes = LANE_NAMES.flatMap((lane, order) => threadNames(pid, threadOf(gpu, lane), lane, order));
  return [...processNames(pid, `GPU ${gpu}`, gpu), ...lanes];
}

function actionEvent(entry: TimelineEntry): TraceEvent {
  const ts = toUs(entry.beginMs);
  return {
    name: titleOf(entry),
    ph: 'X',
    cat: entry.kind,
    pid: processOf(entry.gpu),
    tid: threadOf(entry.gpu, entry.lane),
    ts,
    dur: toUs(entry.endMs) - ts,
    args: argsOf(entry),
  };
}

/** Complete events of one track may not overlap, so a window is an asynchronous pair with its own id. */
function windowEvents(entry: TimelineEntry, id: number): TraceEvent[] {
  const { gpu, lane } = entry;
  const track = {
    name: `${lane} window`,
    cat: `${lane} window`,
    pid: processOf(gpu),
    tid: threadOf(gpu, lane),
    id,
  };
  const begin = toUs(entry.earliestMs);
  const end = Math.max(begin, toUs(entry.latestMs));
  return [
    { ...track, ph: 'b', ts: begin, args: argsOf(entry) },
    { ...track, ph: 'e', ts: end },
  ];
}

function titleOf(entry: TimelineEntry): string {
  return entry.kind === 'INFER' ? `${entry.model} ×${entry.batch}` : `LOAD ${entry.model}`;
}

function argsOf(entry: TimelineEntry): Readonly<Record<string, unknown>> {
  const { model, batch, status, sentMs, earliestMs, latestMs, beginMs, endMs } = entry;
  return { model, batch, status, sentMs, earliestMs, latestMs, beginMs, endMs };
}

/** Viewers treat process 0 as "idle". */
function processOf(gpu: number): number {
  return gpu + 1;
}

/** Threads are told apart over all processes in some viewers. */
function threadOf(gpu: number, lane: TimelineEntry['lane']): number {
  return gpu * LANE_NAMES.length + LANE_NAMES.indexOf(lane) + 1;
}

/** µs with three decimals: exactly the integer ns it came from. */
function toUs(ms: number): number {
  return Number((ms * US_PER_MS).toFixed(3));
}
