import type { Clock } from '../../base/clock/clock.js';
import { checkWritable } from '../../base/files/output-file.js';
import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import type { Timer } from '../../base/world/time.js';
import type { TimelineFacts } from '../../record/timeline-file.js';
import type { ControllerRecorder } from './controller-recorder.js';
import type { Recording } from './recording.js';
import { writeRecording } from './recording-events.js';

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

/** Length after which a recording ends by itself. */
export const LONGEST_S = 60;

interface ServerRecorderOptions {
  readonly recorder: ControllerRecorder;
  /** Clock of the controller. */
  readonly clock: Pick<Clock, 'nowNs' | 'time'>;
  readonly models: () => readonly string[];
  /** Names of the GPUs, for people. */
  readonly gpus: () => readonly string[];
  /** Properties of the server for the file; called when it is written. */
  readonly facts: () => TimelineFacts;
  /** Path for a recording that starts now. */
  readonly newPath: () => string;
  /** Notified of all events, whatever caused them. */
  readonly events: RecordingEvents;
}

export interface RecordingEvents {
  started(): void;
  written(recording: WrittenRecording): void;
  failed(error: Error): void;
}

/** Records a running server, for at most a minute, and writes one timeline of it. */
export class ServerRecorder implements RecordingControl {
  private path = '';
  private limit: Timer | null = null;
  private isRecording = false;
  private stopping: Promise<WrittenRecording | null> | null = null;

  constructor(private readonly options: ServerRecorderOptions) {}

  /** Also true while it writes: the next recording can start when this one has its file. */
  get recording(): boolean {
    return this.isRecording;
  }

  start(): void {
    if (this.isRecording) return;
    const { recorder, clock, newPath, events } = this.options;
    this.path = newPath();
    try {
      checkWritable(this.path);
    } catch (error) {
      events.failed(error as Error);
      throw error;
    }
    this.isRecording = true;
    recorder.begin(clock.nowNs());
    // `events` receives errors.
    const stop = () => void this.stop().catch(() => {});
    this.limit = clock.time.after((LONGEST_S * NS_PER_S) / NS_PER_MS, stop).unref();
    events.started();
  }

  /** A second call while it writes waits for the same file. */
  stop(): Promise<WrittenRecording | null> {
    if (!this.isRecording) return Promise.resolve(null);
    this.stopping ??= this.finish().finally(() => {
      this.isRecording = false;
      this.stopping = null;
    });
    return this.stopping;
  }

  private async finish(): Promise<WrittenRecording | null> {
    this.limit?.cancel();
    const { recorder, clock, events } = this.options;
    const untilNs = clock.nowNs();
    const recording = recorder.end();
    if (recording === null) return null;
    try {
      const written = await this.write(recording, untilNs);
      events.written(written);
      return written;
    } catch (error) {
      events.failed(error as Error);
      throw error;
    }
  }

  private async write(recording: Recording, untilNs: number): Promise<WrittenRecording> {
    const { models, gpus, facts } = this.options;
    const { path } = this;
    const seconds = (untilNs - recording.fromNs) / NS_PER_S;
    const events = await writeRecording(
      path,
      { recording, untilNs, models: models(), gpus: gpus() },
      {
        ...facts(),
        fromSeconds: recording.fromNs / NS_PER_S,
        seconds,
        droppedEvents: recording.dropped,
      },
    );
    return { file: path, seconds, events, dropped: recording.dropped };
  }
}
