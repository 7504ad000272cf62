/** `operators`: lanes and what onnxruntime did below them; `all`: also requests and the controller's decisions. */
export const RECORDING_MODES = ['operators', 'all'] as const;
export type RecordingMode = (typeof RECORDING_MODES)[number];

/** A recording that was written. */
export interface WrittenRecording {
  /** Where the timeline is, for Perfetto. */
  readonly file: string;
  readonly seconds: number;
  readonly events: number;
  /** Events that were left out, because there were too many. */
  readonly dropped: number;
  /** Whose operators are lost, or some of them, and why. */
  readonly problems: readonly string[];
}

/** Starts and stops recording on a running server: by a signal, over HTTP, or from its start on. */
export interface RecordingControl {
  readonly recording: boolean;
  /** Does nothing while it records. Throws `E_FILE_WRITE`, before it records, where the file could not be written. */
  start(mode: RecordingMode): void;
  /** Writes what was recorded. Null: nothing was being recorded. Throws `E_FILE_WRITE`. */
  stop(): Promise<WrittenRecording | null>;
}
