import { OutputFile } from '../base/files/output-file.js';
import type { TimelineEvent } from './timeline-events.js';

/** Facts about the whole timeline shown by the viewer, e.g. the seed and the digest. */
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
