import { NS_PER_US } from '../base/units.js';
import { LANE_NAMES, type Lane } from '../core/action.js';

/** One event of the Trace Event Format; `ts` and `dur` are µs. */
export interface TimelineEvent {
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

export function laneTrack(gpu: number, lane: Lane): Track {
  return track(gpuPid(gpu), lane);
}

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
