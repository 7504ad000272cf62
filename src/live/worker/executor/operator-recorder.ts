import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ModelSession } from '../../ort/session.js';
import type { HostReport, RecordedLog, RecordedReport, RecordSwitch } from './protocol.js';

/** Number of INFERs per profile: writing one takes 1 to 5 ms, about as long as reopening a session. */
const MOST_RUNS = 32;
/** Numbers per INFER. */
const RUN_NUMBERS = 3;

/** INFERs of one session while onnxruntime records its operators. */
export interface InferLog {
  /** Prefix of the session's profile. */
  readonly prefix: string;
  /** As in `RecordedLog`. */
  readonly runs: number[];
  /** True after a failure: the profile's contents about it are unknown, so that later ones cannot be matched. */
  broken: boolean;
}

/**
 * A host thread's recording of its INFERs on the machine's request. onnxruntime records a session from its creation,
 * and not again once that has ended. So each recorded session has a log of its own.
 */
export class OperatorRecorder {
  /** Last number of the switch that was followed. */
  private number: number;
  private logs: RecordedLog[] = [];
  private missed = 0;
  private prefixes = 0;

  constructor(
    private readonly control: RecordSwitch,
    private readonly folder: string,
    /** Distinguishes its files from those of other threads. */
    private readonly host: number,
    private readonly report: (report: RecordedReport) => void,
  ) {
    this.number = control.number;
  }

  /** True if a recording must begin or end. */
  get isBehind(): boolean {
    return this.control.number !== this.number;
  }

  get isOn(): boolean {
    return this.number % 2 === 1 && !this.isBehind;
  }

  /** Begins a recording, or ends and reports it. No session may have a log. */
  follow(): void {
    if (this.number % 2 === 1) {
      const { number, logs, missed } = this;
      this.report({ kind: 'recorded', number, logs, missed });
      this.logs = [];
      this.missed = 0;
    }
    this.number++;
  }

  /** Log for a session that is about to be opened; null: not recorded. */
  newLog(): InferLog | null {
    // A LOAD need not wait for an idle moment: nothing has to be done before a recording begins.
    if (this.isBehind && this.number % 2 === 0) this.follow();
    if (!this.isOn || this.control.full) return null;
    return { prefix: join(this.folder, `${this.host}-${this.prefixes++}`), runs: [], broken: false };
  }

  /** True if a session with this log should be replaced by one with a new log. */
  isOld(log: InferLog | null): boolean {
    if (log === null) return !this.control.full;
    return log.broken || log.runs.length >= MOST_RUNS * RUN_NUMBERS;
  }

  ran(log: InferLog | null, action: number, { beginNs, endNs, copyInNs, copyOutNs }: HostReport): void {
    if (!this.isOn) return;
    if (log === null || log.broken) this.missed++;
    else log.runs.push(action, beginNs + copyInNs, endNs - copyOutNs);
  }

  /** Has onnxruntime write the profile of a session, which continues unrecorded. Never throws. */
  end(session: ModelSession, { prefix, runs }: InferLog): void {
    try {
      session.endProfiling();
      const file = readdirSync(this.folder).find((name) => name.startsWith(`${basename(prefix)}_`)) as string;
      const path = join(this.folder, file);
      this.control.wrote(statSync(path).size);
      this.logs.push({ path, warmUps: session.warmUps, runs: Float64Array.from(runs) });
    } catch {
      // There is no file: the disk is full, or the machine did not wait for this thread.
      this.missed += runs.length / RUN_NUMBERS;
    }
  }
}
