import { LogReader } from '../base/files/log-reader.js';

const COLUMNS = [
  't',
  'action_id',
  'action_type',
  'status',
  'worker_id',
  'gpu_id',
  'model_id',
  'batch_size',
  'worker_exec_duration',
  'worker_exec_complete',
  'controller_action_duration',
  'copies_loaded',
  'action_sent',
  'window_earliest',
  'window_latest',
  'worker_exec_begin',
] as const;

/** `action_type`. */
export const LOAD = 1;
export const INFER = 2;
export const UNLOAD = 3;
/** `status`. */
export const OK = 0;
export const LOAD_TOO_LATE = 51;
export const INFER_TOO_LATE = 81;
export const WEIGHTS_MISSING = 82;
export const WEIGHTS_CHANGED = 84;
export const ABORTED = 97;
export const WORKER_LOST = 99;
/** Statuses of actions that may have run for a while before they failed; the log lacks their times. */
export const RAN_AND_FAILED: readonly number[] = [54, 84, 97, 98];

/** Reads actions.tsv: fields of the current row, times in ns since the start of the run. */
export class ActionRows {
  private readonly log: LogReader;

  constructor(path: string) {
    this.log = new LogReader(path, COLUMNS, ['padded_length']);
  }

  next(): boolean {
    return this.log.next();
  }

  close(): void {
    this.log.close();
  }

  get line(): number {
    return this.log.line;
  }

  get resultNs(): number {
    return this.log.values[0];
  }

  get id(): number {
    return this.log.values[1];
  }

  get type(): number {
    return this.log.values[2];
  }

  get status(): number {
    return this.log.values[3];
  }

  /** Number unique to the GPU. */
  get gpuKey(): number {
    return this.log.values[4] * 65536 + this.log.values[5];
  }

  get worker(): number {
    return this.log.values[4];
  }

  /** Number of the GPU within its worker. */
  get gpu(): number {
    return this.log.values[5];
  }

  get gpuName(): string {
    return `worker ${this.log.values[4]} GPU ${this.log.values[5]}`;
  }

  get model(): number {
    return this.log.values[6];
  }

  get batchSize(): number {
    return this.log.values[7];
  }

  /** Duration as in the log, next to begin and end. */
  get durationNs(): number {
    return this.log.values[8];
  }

  get roundTripNs(): number {
    return this.log.values[10];
  }

  /** Number of GPUs that held the model when the result was handled. */
  get copies(): number {
    return this.log.values[11];
  }

  get sentNs(): number {
    return this.log.values[12];
  }

  get earliestNs(): number {
    return this.sentNs + this.log.values[13];
  }

  /** End of the window; Infinity: none. */
  get latestNs(): number {
    const latest = this.log.values[14];
    return latest === -1 ? Number.POSITIVE_INFINITY : this.sentNs + latest;
  }

  get beginNs(): number {
    return this.sentNs + this.log.values[15];
  }

  /** Padded length; NaN: not in the log. */
  get paddedLength(): number {
    return this.log.values[16];
  }

  get endNs(): number {
    return this.sentNs + this.log.values[9];
  }
}
