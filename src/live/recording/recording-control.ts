/** `operators`: lanes and onnxruntime's operators below them; `all`: also requests and the controller's decisions. */
export const RECORDING_MODES = ['operators', 'all'] as const;
export type RecordingMode = (typeof RECORDING_MODES)[number];

/** A recording that was written. */
export interface WrittenRecording {
  /** Path of the timeline, for Perfetto. */
  readonly file: string;
  readonly seconds: number;
  readonly events: number;
  /** Number of events left out, because there were too many. */
  readonly dropped: number;
  /** Workers whose operators are lost, at least in part, with reasons. */
  readonly problems: readonly string[];
}

/** Starts and stops recording on a running server: by a signal, over HTTP, or from its start. */
export interface RecordingControl {
  readonly recording: boolean;
  /** No effect while recording. Throws `E_FILE_WRITE`, before it records, if the file could not be written. */
  start(mode: RecordingMode): void;
  /** Writes the recording. Null: there was none. Throws `E_FILE_WRITE`. */
  stop(): Promise<WrittenRecording | null>;
}
