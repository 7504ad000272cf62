import { OutputFile } from '../base/files/output-file.js';
import { NS_PER_MS, NS_PER_US } from '../base/units.js';
import { LANE_NAMES } from '../core/action.js';
import type { TimelineEntry } from './results.js';

/** Place of an event: a process and one of its threads. */
interface Track {
  readonly pid: number;
  readonly tid: number;
}

/** One event of the Trace Event Format; `ts` and `dur` are µs. */
interface TimelineEvent extends Track {
  readonly name: string;
  /** Complete, metadata, begin and end of an asynchronous span. */
  readonly ph: 'X' | 'M' | 'b' | 'e';
  readonly ts?: number;
  readonly dur?: number;
  readonly cat?: string;
  readonly id?: number;
  /** Colour in chrome://tracing. */
  readonly cname?: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

/** Viewers treat process 0 as "idle", and some need thread ids that are unique over all processes. */
function track(pid: number, index: number): Track {
  return { pid, tid: pid * 1000 + index };
}

/** Requests from arrival to answer. */
export const REQUESTS = track(1, 0);

function laneTrack(gpu: number, lane: number): Track {
  return track(gpu + 2, lane);
}

/** Facts about a timeline that the viewer shows, e.g. seed and digest. */
type TimelineFacts = Readonly<Record<string, string | number>>;

/**
 * A timeline for Perfetto (ui.perfetto.dev) and chrome://tracing, written event by event and renamed when complete: one
 * process per GPU, one track per lane with the actions as they ran, and one with the windows in which they might start.
 * Every member throws `E_FILE_WRITE`.
 *
 * Format: "Trace Event Format", JSON object form.
 */
export class TimelineFile {
  private separator = '\n';
  private readonly file: OutputFile;
  /** GPUs that have names. */
  private readonly gpus = new Set<number>();

  constructor(path: string, facts: TimelineFacts) {
    this.file = new OutputFile(path);
    this.file.write(`{"displayTimeUnit":"ms","otherData":${JSON.stringify(facts)},"traceEvents":[`);
  }

  /** Names a process or a track of one, and sets its order among the others. */
  name(kind: 'process' | 'thread', at: Track, name: string, order: number): void {
    this.write({ name: `${kind}_name`, ph: 'M', ...at, args: { name } });
    this.write({ name: `${kind}_sort_index`, ph: 'M', ...at, args: { sort_index: order } });
  }

  /** Writes a span that may overlap others of its kind; `id` is unique within `cat`. */
  span(
    { name, cat, id, ...at }: Track & { readonly name: string; readonly cat: string; readonly id: number },
    beginNs: number,
    endNs: number,
    more: Pick<TimelineEvent, 'args' | 'cname'>,
  ): void {
    const common = { name, cat, id, ...at };
    this.write({ ...common, ph: 'b', ts: toUs(beginNs), ...more });
    this.write({ ...common, ph: 'e', ts: toUs(Math.max(beginNs, endNs)) });
  }

  /** Writes an action as it ran, and its window; `id` is unique in the file. */
  action(entry: TimelineEntry, id: number): void {
    const { gpu, lane, kind, ...args } = entry;
    if (!this.gpus.has(gpu)) this.nameGpu(gpu);
    const at = laneTrack(gpu, LANE_NAMES.indexOf(lane));
    const { beginMs, endMs, earliestMs, latestMs } = args;
    const [beginNs, endNs] = [toNs(beginMs), toNs(endMs)];
    const name = kind === 'INFER' ? `${entry.model} ×${entry.batch}` : `LOAD ${entry.model}`;
    const dur = toUs(Math.max(0, endNs - beginNs));
    this.write({ name, ph: 'X', cat: kind, ...at, ts: toUs(beginNs), dur, args });
    const windows = `${lane} window`;
    this.span({ name: windows, cat: windows, id, ...at }, toNs(earliestMs), toNs(latestMs), { args });
  }

  close(): void {
    this.file.write('\n]}\n');
    this.file.close();
  }

  /** Drops an unfinished file. */
  discard(): void {
    this.file.discard();
  }

  private nameGpu(gpu: number): void {
    this.gpus.add(gpu);
    this.name('process', { pid: laneTrack(gpu, 0).pid, tid: 0 }, `GPU ${gpu}`, gpu + 1);
    for (const [lane, name] of LANE_NAMES.entries()) this.name('thread', laneTrack(gpu, lane), name, lane);
  }

  private write(event: TimelineEvent): void {
    this.file.write(this.separator + JSON.stringify(event));
    this.separator = ',\n';
  }
}

/** Writes a slice of a run as a timeline. Throws `E_FILE_WRITE`. */
export function writeTimeline(
  path: string,
  entries: readonly TimelineEntry[],
  facts: TimelineFacts = {},
): void {
  const file = new TimelineFile(path, facts);
  for (const [id, entry] of entries.entries()) file.action(entry, id);
  file.close();
}

function toUs(ns: number): number {
  return Math.round(ns) / NS_PER_US;
}

/** The exact integer ns that a ms value came from. */
function toNs(ms: number): number {
  return Math.round(ms * NS_PER_MS);
}
