import { OutputFile } from '../base/files/output-file.js';
import { NS_PER_MS, NS_PER_US } from '../base/units.js';
import { LANE_NAMES, type Lane } from '../core/action.js';
import type { TimelineEntry } from './results.js';

/** One event of the Trace Event Format; `ts` and `dur` are µs. */
interface TimelineEvent {
  readonly name: string;
  /** Complete, metadata, begin and end of an asynchronous span. */
  readonly ph: 'X' | 'M' | 'b' | 'e';
  readonly pid: number;
  readonly tid: number;
  readonly ts?: number;
  readonly dur?: number;
  readonly cat?: string;
  readonly id?: number;
  /** Colour in chrome://tracing. */
  readonly cname?: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

/** Place of an event: a process and one of its threads. */
interface Track {
  readonly pid: number;
  readonly tid: number;
}

/** Viewers treat process 0 as "idle". */
const CONTROLLER_PID = 1;
/** Requests from arrival to answer. */
export const REQUESTS: Track = track(CONTROLLER_PID, 0);

function gpuPid(gpu: number): number {
  return gpu + 2;
}

function laneTrack(gpu: number, lane: Lane): Track {
  return track(gpuPid(gpu), lane);
}

function slice(
  { pid, tid }: Track,
  name: string,
  cat: string,
  beginNs: number,
  endNs: number,
  args: TimelineEvent['args'],
): TimelineEvent {
  const begin = Math.round(beginNs);
  const dur = toUs(Math.max(0, Math.round(endNs) - begin));
  return { name, ph: 'X', cat, pid, tid, ts: toUs(begin), dur, ...(args === undefined ? {} : { args }) };
}

/** A span that may overlap others of its kind; `id` is unique within `cat`. */
export function span(
  { pid, tid }: Track,
  name: string,
  cat: string,
  id: number,
  beginNs: number,
  endNs: number,
  more: Pick<TimelineEvent, 'args' | 'cname'>,
): TimelineEvent[] {
  const common = { name, cat, pid, tid, id };
  return [
    { ...common, ph: 'b', ts: toUs(beginNs), ...more },
    { ...common, ph: 'e', ts: toUs(Math.max(beginNs, endNs)) },
  ];
}

/** Names a process and sets its order among the others. */
export function processNames(pid: number, name: string, order: number): TimelineEvent[] {
  return [
    { name: 'process_name', ph: 'M', pid, tid: 0, args: { name } },
    { name: 'process_sort_index', ph: 'M', pid, tid: 0, args: { sort_index: order } },
  ];
}

/** Names a track and sets its order among the others. */
export function trackNames({ pid, tid }: Track, name: string, order: number): TimelineEvent[] {
  return [
    { name: 'thread_name', ph: 'M', pid, tid, args: { name } },
    { name: 'thread_sort_index', ph: 'M', pid, tid, args: { sort_index: order } },
  ];
}

/** Names a GPU and its lanes. */
function gpuNames(gpu: number, name: string): TimelineEvent[] {
  return [
    ...processNames(gpuPid(gpu), name, gpu + 1),
    ...LANE_NAMES.flatMap((lane, order) => trackNames(laneTrack(gpu, order as Lane), lane, order)),
  ];
}

/** Window in which an action of a lane may start; `id` is that of the action. */
function windowSpan(
  gpu: number,
  lane: Lane,
  id: number,
  beginNs: number,
  endNs: number,
  args: Readonly<Record<string, unknown>>,
): TimelineEvent[] {
  const name = `${LANE_NAMES[lane]} window`;
  return span(laneTrack(gpu, lane), name, name, id, beginNs, endNs, { args });
}

/** Some viewers need thread ids that are unique over all processes. */
function track(pid: number, index: number): Track {
  return { pid, tid: pid * 1000 + index };
}

function toUs(ns: number): number {
  return Math.round(ns) / NS_PER_US;
}

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
