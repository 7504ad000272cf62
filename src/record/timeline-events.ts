import { NS_PER_US } from '../base/units.js';
import { LANE_NAMES, type Lane } from '../core/action.js';

/** One event of the Trace Event Format; `ts` and `dur` are µs. */
export interface TimelineEvent {
  readonly name: string;
  /** Complete, metadata, instant, begin and end of an asynchronous span, begin and end of an arrow ("flow"). */
  readonly ph: 'X' | 'M' | 'i' | 'b' | 'e' | 's' | 'f';
  readonly pid: number;
  readonly tid: number;
  readonly ts?: number;
  readonly dur?: number;
  readonly cat?: string;
  readonly id?: number;
  /** On the end of an arrow: binds it to the enclosing slice. */
  readonly bp?: 'e';
  /** On an instant: its scope is the thread. */
  readonly s?: 't';
  /** Colour in chrome://tracing. */
  readonly cname?: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

/** Place of an event: a process and one of its threads. */
export interface Track {
  readonly pid: number;
  readonly tid: number;
}

/** Viewers treat process 0 as "idle". */
const CONTROLLER_PID = 1;
/** The controller's only track. */
export const DECISIONS: Track = track(CONTROLLER_PID, 0);

function gpuPid(gpu: number): number {
  return gpu + 2;
}

export function laneTrack(gpu: number, lane: Lane): Track {
  return track(gpuPid(gpu), lane);
}

/**
 * Gap between successive slices of a track: viewers that read µs as binary fractions may be a ns off, and Perfetto
 * drops overlapping slices.
 */
export const GAP_NS = 1;

/** A slice. Viewers recognize children by their times: they come after their parent and lie inside it. */
export function slice(
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

/** An event without duration. */
export function instant(
  { pid, tid }: Track,
  name: string,
  cat: string,
  atNs: number,
  args: TimelineEvent['args'],
): TimelineEvent {
  return { name, ph: 'i', s: 't', cat, pid, tid, ts: toUs(atNs), ...(args === undefined ? {} : { args }) };
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

/** An arrow between the slices that begin at these times; must be written right after the second of them. */
export function arrow(
  name: string,
  id: number,
  from: Track & { readonly atNs: number },
  to: Track & { readonly atNs: number },
): TimelineEvent[] {
  const common = { name, cat: name, id };
  return [
    { ...common, ph: 's', pid: from.pid, tid: from.tid, ts: toUs(from.atNs) },
    { ...common, ph: 'f', bp: 'e', pid: to.pid, tid: to.tid, ts: toUs(to.atNs) },
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
export function gpuNames(gpu: number, name: string): TimelineEvent[] {
  return [
    ...processNames(gpuPid(gpu), name, gpu + 1),
    ...LANE_NAMES.flatMap((lane, order) => trackNames(laneTrack(gpu, order as Lane), lane, order)),
  ];
}

/** Window in which an action of a lane may start; `id` is that of the action. */
export function windowSpan(
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
