/** A recording that was written. */
export interface WrittenRecording {
  /** Path of the timeline, for Perfetto. */
  readonly file: string;
  readonly seconds: number;
  readonly events: number;
  /** Number of events left out, because there were too many. */
  readonly dropped: number;
}

/** Starts and stops recording on a running server: by a signal, over HTTP, or from its start. */
export interface RecordingControl {
  readonly recording: boolean;
  /** No effect while recording. Throws `E_FILE_WRITE`, before it records, if the file could not be written. */
  start(): void;
  /** Writes the recording. Null: there was none. Throws `E_FILE_WRITE`. */
  stop(): Promise<WrittenRecording | null>;
}
