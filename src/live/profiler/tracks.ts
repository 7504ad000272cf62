import { LANE_NAMES, LANE_WEIGHTS, type Lane } from '../../core/action.js';
import { NS_PER_US } from '../../core/units.js';
import type { TraceEvent } from '../../metrics/trace-file.js';

/** Where an event is shown: a process and one of its threads. */
export interface Track {
  readonly pid: number;
  readonly tid: number;
}

/** Viewers treat process 0 as "idle". */
export const CONTROLLER_PID = 1;
export const DECISIONS: Track = track(CONTROLLER_PID, 0);

export function gpuPid(gpu: number): number {
  return gpu + 2;
}

export function laneTrack(gpu: number, lane: Lane): Track {
  return track(gpuPid(gpu), lane);
}

/** Of operators that ran beside others; `index` counts from 0. */
export function operatorTrack(gpu: number, index: number): Track {
  return track(gpuPid(gpu), LANE_WEIGHTS + 1 + index);
}

/**
 * Slices of a track end this much before the next one begins: viewers that read µs as binary fractions may be a ns off,
 * and Perfetto drops what overlaps.
 */
export const GAP_NS = 1;

/** Children are told by their times: they come after their parent and lie inside it. */
export function slice(
  { pid, tid }: Track,
  name: string,
  cat: string,
  beginNs: number,
  endNs: number,
  args: TraceEvent['args'],
): TraceEvent {
  const begin = Math.round(beginNs);
  const dur = toUs(Math.max(0, Math.round(endNs) - begin));
  return { name, ph: 'X', cat, pid, tid, ts: toUs(begin), dur, ...(args === undefined ? {} : { args }) };
}

/** Something without duration. */
export function instant(
  { pid, tid }: Track,
  name: string,
  cat: string,
  atNs: number,
  args: TraceEvent['args'],
): TraceEvent {
  return { name, ph: 'i', s: 't', cat, pid, tid, ts: toUs(atNs), ...(args === undefined ? {} : { args }) };
}

/** A span that may overlap others of its kind: `id` is its own among those of `cat`. */
export function span(
  { pid, tid }: Track,
  name: string,
  cat: string,
  id: number,
  beginNs: number,
  endNs: number,
  more: Pick<TraceEvent, 'args' | 'cname'>,
): TraceEvent[] {
  const common = { name, cat, id, pid, tid };
  return [
    { ...common, ph: 'b', ts: toUs(beginNs), ...more },
    { ...common, ph: 'e', ts: toUs(Math.max(beginNs, endNs)) },
  ];
}

/** An arrow between the slices that begin at these times; written right after the second of them. */
export function arrow(
  name: string,
  id: number,
  from: Track & { readonly atNs: number },
  to: Track & { readonly atNs: number },
): TraceEvent[] {
  const common = { name, cat: name, id };
  return [
    { ...common, ph: 's', pid: from.pid, tid: from.tid, ts: toUs(from.atNs) },
    { ...common, ph: 'f', bp: 'e', pid: to.pid, tid: to.tid, ts: toUs(to.atNs) },
  ];
}

export function laneName(lane: Lane): string {
  return LANE_NAMES[lane];
}

/** Some viewers tell threads apart over all processes. */
function track(pid: number, index: number): Track {
  return { pid, tid: pid * 1000 + index };
}

function toUs(ns: number): number {
  return Math.round(ns) / NS_PER_US;
}
