import { OutputFile } from '../files/output-file.js';

/** One event of the Trace Event Format; `ts` and `dur` are µs. */
export interface TraceEvent {
  readonly name: string;
  /** Complete, metadata, instant, begin and end of an asynchronous span, begin and end of an arrow ("flow"). */
  readonly ph: 'X' | 'M' | 'i' | 'b' | 'e' | 's' | 'f';
  readonly pid: number;
  readonly tid: number;
  readonly ts?: number;
  readonly dur?: number;
  readonly cat?: string;
  readonly id?: number;
  /** Of an arrow's end: it points at the slice that encloses it. */
  readonly bp?: 'e';
  /** Of an instant: it belongs to its thread. */
  readonly s?: 't';
  /** Colour in chrome://tracing. */
  readonly cname?: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

/** Shown by the viewer as facts about the whole trace, e.g. the seed and the digest. */
export type TraceFacts = Readonly<Record<string, string | number>>;

/**
 * A file for Perfetto (ui.perfetto.dev) and chrome://tracing that is written event by event and gets its name when it
 * is complete. Every member throws `E_FILE_WRITE`.
 *
 * Format: "Trace Event Format", JSON object form.
 */
export class TraceFile {
  /** Written so far. */
  events = 0;
  private readonly file: OutputFile;

  constructor(path: string, facts: TraceFacts) {
    this.file = new OutputFile(path);
    this.file.write('{"displayTimeUnit":"ms","otherData":');
    this.file.write(JSON.stringify(facts));
    this.file.write(',"traceEvents":[');
  }

  write(event: TraceEvent): void {
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

/** Tells the viewer the name of a process, and its place among the others. */
export function processNames(pid: number, name: string, order: number): TraceEvent[] {
  return [
    { name: 'process_name', ph: 'M', pid, tid: 0, args: { name } },
    { name: 'process_sort_index', ph: 'M', pid, tid: 0, args: { sort_index: order } },
  ];
}

/** The same of a track. */
export function threadNames(pid: number, tid: number, name: string, order: number): TraceEvent[] {
  return [
    { name: 'thread_name', ph: 'M', pid, tid, args: { name } },
    { name: 'thread_sort_index', ph: 'M', pid, tid, args: { sort_index: order } },
  ];
}
