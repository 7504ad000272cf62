import { OutputFile } from '../base/files/output-file.js';
import { NS_PER_MS } from '../base/units.js';
import { LANE_NAMES, type Lane } from '../core/action.js';
import type { TimelineEntry } from './results.js';
import { gpuNames, laneTrack, slice, type TimelineEvent, windowSpan } from './timeline-events.js';

/** Facts about a timeline that the viewer shows, e.g. seed and digest. */
export type TimelineFacts = Readonly<Record<string, string | number>>;

/**
 * A timeline for Perfetto (ui.perfetto.dev) and chrome://tracing, written event by event and renamed when complete.
 * Every member throws `E_FILE_WRITE`.
 *
 * Format: "Trace Event Format", JSON object form.
 */
export class TimelineFile {
  /** Number of events written so far. */
  events = 0;
  private readonly file: OutputFile;

  constructor(path: string, facts: TimelineFacts) {
    this.file = new OutputFile(path);
    this.file.write('{"displayTimeUnit":"ms","otherData":');
    this.file.write(JSON.stringify(facts));
    this.file.write(',"traceEvents":[');
  }

  write(event: TimelineEvent): void {
    this.file.write((this.events === 0 ? '\n' : ',\n') + JSON.stringify(event));
    this.events++;
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
  for (const gpu of new Set(entries.map((entry) => entry.gpu).sort((a, b) => a - b))) {
    for (const event of gpuNames(gpu, `GPU ${gpu}`)) file.write(event);
  }
  entries.forEach((entry, index) => {
    const { gpu, kind, beginMs, endMs, earliestMs, latestMs } = entry;
    const lane = LANE_NAMES.indexOf(entry.lane) as Lane;
    const { gpu: _, lane: __, kind: ___, ...args } = entry;
    file.write(slice(laneTrack(gpu, lane), titleOf(entry), kind, toNs(beginMs), toNs(endMs), args));
    for (const event of windowSpan(gpu, lane, index, toNs(earliestMs), toNs(latestMs), args))
      file.write(event);
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
