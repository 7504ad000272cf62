import { NS_PER_S } from '../../core/units.js';
import { checkWritable } from '../../files/output-file.js';
import type { TraceFacts } from '../../metrics/trace-file.js';
import type { FleetProfile } from './operator-profile.js';
import type { ProfileControl, ProfileMode, WrittenProfile } from './profile-control.js';
import type { Recorder } from './recorder.js';
import type { Recording } from './recording.js';
import { writeTimeline } from './write-timeline.js';

/** A recording that nobody stops ends by itself. */
export const LONGEST_S = 60;

export interface ProfilerOptions {
  readonly recorder: Recorder;
  /** Records what onnxruntime does on the workers; times are those of `nowNs`. */
  readonly fleet: { startProfile(): void; stopProfile(): Promise<FleetProfile> };
  /** The controller's clock. */
  readonly nowNs: () => number;
  readonly models: readonly string[];
  /** Names of the GPUs, for people. */
  readonly gpus: readonly string[];
  /** What the file says of the server it is from; asked when it is written. */
  readonly facts: () => TraceFacts;
  /** Where to write the recording that starts now. */
  readonly newPath: () => string;
  /** Told of all that happens, whoever caused it. */
  readonly events: ProfilerEvents;
}

export interface ProfilerEvents {
  started(mode: ProfileMode): void;
  written(profile: WrittenProfile): void;
  failed(error: Error): void;
}

/** Records a server that runs, for a minute at most, and writes one timeline of it. */
export class Profiler implements ProfileControl {
  private path = '';
  private limit: NodeJS.Timeout | undefined;
  private isRecording = false;
  private stopping: Promise<WrittenProfile | null> | null = null;

  constructor(private readonly options: ProfilerOptions) {}

  /** Also while it writes: the next recording can start when this one has its file. */
  get recording(): boolean {
    return this.isRecording;
  }

  start(mode: ProfileMode): void {
    if (this.isRecording) return;
    const { fleet, recorder, nowNs, newPath, events } = this.options;
    this.path = newPath();
    try {
      checkWritable(this.path);
    } catch (error) {
      events.failed(error as Error);
      throw error;
    }
    this.isRecording = true;
    fleet.startProfile();
    recorder.begin(mode, nowNs());
    // `events` hears of what goes wrong.
    this.limit = setTimeout(() => void this.stop().catch(() => {}), LONGEST_S * 1000).unref();
    events.started(mode);
  }

  /** A second call while it writes waits for the same file. */
  stop(): Promise<WrittenProfile | null> {
    if (!this.isRecording) return Promise.resolve(null);
    this.stopping ??= this.finish().finally(() => {
      this.isRecording = false;
      this.stopping = null;
    });
    return this.stopping;
  }

  private async finish(): Promise<WrittenProfile | null> {
    clearTimeout(this.limit);
    const { recorder, fleet, nowNs, events } = this.options;
    const untilNs = nowNs();
    const recording = recorder.end();
    if (recording === null) return null;
    const profile = await fleet.stopProfile();
    try {
      const written = await this.write(recording, untilNs, profile);
      events.written(written);
      return written;
    } catch (error) {
      events.failed(error as Error);
      throw error;
    }
  }

  private async write(
    recording: Recording,
    untilNs: number,
    { operators, dropped: droppedOperators, problems }: FleetProfile,
  ): Promise<WrittenProfile> {
    const { models, gpus, facts } = this.options;
    const { path } = this;
    const seconds = (untilNs - recording.fromNs) / NS_PER_S;
    const events = await writeTimeline(path, { recording, untilNs, models, gpus }, operators, {
      ...facts(),
      mode: recording.mode,
      fromSeconds: recording.fromNs / NS_PER_S,
      seconds,
      droppedEvents: recording.dropped,
      droppedOperators,
      ...(problems.length === 0 ? {} : { problems: problems.join('; ') }),
    });
    return { file: path, seconds, events, dropped: recording.dropped + droppedOperators, problems };
  }
}
