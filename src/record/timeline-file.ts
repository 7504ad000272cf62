import { OutputFile } from '../base/files/output-file.js';
import { NS_PER_MS } from '../base/units.js';
import { LANE_NAMES, type Lane } from '../core/action.js';
import type { TimelineEntry } from './results.js';
import { gpuNames, laneTrack, slice, type TimelineEvent, windowSpan } from './timeline-events.js';

/** Facts about a timeline that the viewer shows, e.g. seed and digest. */
type TimelineFacts = Readonly<Record<string, string | number>>;

/**
 * A timeline for Perfetto (ui.perfetto.dev) and chrome://tracing, written event by event and renamed when complete.
 * Every member throws `E_FILE_WRITE`.
 *
 * Format: "Trace Event Format", JSON object form.
 */
export class TimelineFile {
  private isEmpty = true;
  private readonly file: OutputFile;

  constructor(path: string, facts: TimelineFacts) {
    this.file = new OutputFile(path);
    this.file.write('{"displayTimeUnit":"ms","otherData":');
    this.file.write(JSON.stringify(facts));
    this.file.write(',"traceEvents":[');
  }

  write(event: TimelineEvent): void {
    this.file.write((this.isEmpty ? '\n' : ',\n') + JSON.stringify(event));
    this.isEmpty = false;
  }

  /** Names the tracks of a GPU, once, before its actions. */
  nameGpu(gpu: number): void {
    for (const event of gpuNames(gpu, `GPU ${gpu}`)) this.write(event);
  }

  /** Writes an action as it ran, and its window; `id` is unique in the file. */
  action(entry: TimelineEntry, id: number): void {
    const { gpu, lane: laneName, kind, ...args } = entry;
    const { beginMs, endMs, earliestMs, latestMs } = entry;
    const lane = LANE_NAMES.indexOf(laneName) as Lane;
    this.write(slice(laneTrack(gpu, lane), titleOf(entry), kind, toNs(beginMs), toNs(endMs), args));
    for (const event of windowSpan(gpu, lane, id, toNs(earliestMs), toNs(latestMs), args)) this.write(event);
  }

  close(): void {
    this.file.write('\n]}\n');
    this.file.close();
  }

  /** Drops an unfinished file. */
  discard(): void {
    this.file.discard();
  }
}

/**
 * Writes a slice of a run as a timeline: one process per GPU, one track per lane with the actions as they ran, and one
 * track per lane with the windows in which they might start; windows may overlap. Throws `E_FILE_WRITE`.
 */
export function writeTimeline(
  path: string,
  entries: readonly TimelineEntry[],
  facts: TimelineFacts = {},
): void {
  const file = new TimelineFile(path, facts);
  for (const gpu of new Set(entries.map((entry) => entry.gpu).sort((a, b) => a - b))) file.nameGpu(gpu);
  entries.forEach((entry, index) => {
    file.action(entry, index);
  });
  file.close();
}

function titleOf(entry: TimelineEntry): string {
  return entry.kind === 'INFER' ? `${entry.model} ×${entry.batch}` : `LOAD ${entry.model}`;
}

/** The exact integer ns that a ms value came from. */
function toNs(ms: number): number {
  return Math.round(ms * NS_PER_MS);
}
