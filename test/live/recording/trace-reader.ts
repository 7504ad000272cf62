import { readFileSync } from 'node:fs';

export interface ReadEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur: number;
  readonly cat: string;
  readonly id: number;
  readonly bp?: string;
  readonly s?: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the writer put there is looked at by tests.
  readonly args: any;
}

/** A slice of a track, as a viewer nests it; times are ns. */
export interface Slice {
  readonly event: ReadEvent;
  readonly beginNs: number;
  readonly endNs: number;
  readonly children: Slice[];
}

export interface ReadTrace {
  readonly facts: Readonly<Record<string, unknown>>;
  readonly events: readonly ReadEvent[];
  /** Names by `pid` and by `tid`. */
  readonly processes: ReadonlyMap<number, string>;
  readonly threads: ReadonlyMap<number, string>;
  /** Outermost slices by `tid`. */
  readonly tracks: ReadonlyMap<number, readonly Slice[]>;
  readonly arrows: readonly { readonly from: Slice; readonly to: Slice }[];
  readonly spans: readonly { readonly begin: ReadEvent; readonly end: ReadEvent }[];
}

/**
 * Reads a timeline as strictly as its format can be read, which is stricter than viewers are. Throws at the first thing
 * that one of them would drop or misplace.
 */
export function readTrace(path: string): ReadTrace {
  const { traceEvents, otherData, displayTimeUnit } = JSON.parse(readFileSync(path, 'utf8'));
  must(displayTimeUnit === 'ms', 'unit');
  const events = traceEvents as ReadEvent[];
  for (const event of events) checkFields(event);
  const { processes, threads } = namesOf(events);
  for (const event of events) {
    must(processes.has(event.pid), 'every process has a name', event);
    must(event.ph === 'M' || threads.has(event.tid), 'every track has a name', event);
  }
  // Viewers sort by time and keep the order where times are equal.
  const sorted = events.filter(({ ph }) => ph !== 'M').toSorted((a, b) => nsOf(a.ts) - nsOf(b.ts));
  const { tracks, arrows } = nest(sorted);
  return { facts: otherData, events, processes, threads, tracks, arrows, spans: spansOf(sorted) };
}

function checkFields(event: ReadEvent): void {
  const { name, ph, pid, tid, ts, dur, cat, id } = event;
  must(typeof name === 'string' && name !== '', 'has a name', event);
  must('XMibesf'.includes(ph) && ph.length === 1, 'is of a known kind', event);
  must(Number.isInteger(pid) && pid > 0 && Number.isInteger(tid), 'has a place', event);
  if (ph === 'M') return;
  must(ts >= 0 && Math.abs(ts * 1000 - nsOf(ts)) < 0.2, 'has a time of whole ns', event);
  must(typeof cat === 'string' && cat !== '', 'has a category', event);
  if (ph === 'X') must(dur >= 0, 'has a duration', event);
  if ('besf'.includes(ph)) must(Number.isInteger(id), 'has an id', event);
  if (ph === 'f') must(event.bp === 'e', 'points at the slice around it', event);
  if (ph === 'i') must(event.s === 't', 'belongs to a thread', event);
}

function namesOf(events: readonly ReadEvent[]) {
  const processes = new Map<number, string>();
  const threads = new Map<number, string>();
  const processOf = new Map<number, number>();
  for (const event of events) {
    const { ph, name, pid, tid, args } = event;
    if (ph !== 'M') {
      must(processOf.get(tid) === pid, 'tracks are told apart over all processes', event);
    } else if (name === 'process_name') {
      must(!processes.has(pid), 'a process is named once', event);
      processes.set(pid, args.name);
    } else if (name === 'thread_name') {
      must(!threads.has(tid), 'a track is named once', event);
      threads.set(tid, args.name);
      processOf.set(tid, pid);
    } else must(Number.isInteger(args.sort_index), 'has an order', event);
  }
  return { processes, threads };
}

/** Slices of one track contain each other or don't meet; arrows start and end in a slice. */
function nest(sorted: readonly ReadEvent[]) {
  const tracks = new Map<number, Slice[]>();
  const open = new Map<number, Slice[]>();
  const starts = new Map<string, Slice>();
  const arrows: { from: Slice; to: Slice }[] = [];
  for (const event of sorted) {
    const { ph, tid } = event;
    const beginNs = nsOf(event.ts);
    const stack = open.get(tid) ?? [];
    open.set(tid, stack);
    if (ph === 'X') {
      while (stack.length > 0 && (stack.at(-1) as Slice).endNs < beginNs) stack.pop();
      const slice = { event, beginNs, endNs: beginNs + nsOf(event.dur), children: [] };
      const parent = stack.at(-1);
      must(parent === undefined || slice.endNs <= parent.endNs, 'lies in its parent', event, parent?.event);
      const outermost = tracks.get(tid) ?? [];
      tracks.set(tid, outermost);
      (parent?.children ?? outermost).push(slice);
      stack.push(slice);
    } else if (ph === 's' || ph === 'f') {
      const slice = stack.at(-1);
      const key = `${event.cat} ${event.name} ${event.id}`;
      if (slice === undefined || slice.endNs < beginNs)
        throw new Error(`an arrow at no slice: ${text(event)}`);
      const from = starts.get(key);
      must((ph === 's') === (from === undefined), 'an arrow starts, then ends, once', event);
      if (from === undefined) starts.set(key, slice);
      else arrows.push({ from, to: slice });
    }
  }
  must(arrows.length === starts.size, 'every arrow has an end');
  return { tracks, arrows };
}

function spansOf(sorted: readonly ReadEvent[]) {
  const begun = new Map<string, ReadEvent>();
  const spans: { begin: ReadEvent; end: ReadEvent }[] = [];
  const seen = new Set<string>();
  for (const event of sorted) {
    const { ph, cat, id, name, pid } = event;
    const key = `${pid} ${cat} ${id} ${name}`;
    if (ph === 'b') {
      must(!seen.has(key), 'an id is used once', event);
      seen.add(key);
      begun.set(key, event);
    } else if (ph === 'e') {
      const begin = begun.get(key);
      if (begin === undefined) throw new Error(`a span ends that has not begun: ${text(event)}`);
      begun.delete(key);
      spans.push({ begin, end: event });
    }
  }
  must(begun.size === 0, 'every span ends', [...begun.values()][0]);
  return spans;
}

function nsOf(us: number): number {
  return Math.round(us * 1000);
}

function must(holds: boolean, what: string, ...events: (ReadEvent | undefined)[]): void {
  if (!holds) throw new Error(`${what}: ${events.map(text).join(' in ')}`);
}

function text(event: ReadEvent | undefined): string {
  return JSON.stringify(event);
}
