import { hostname } from 'node:os';
import { fileStamp } from '../base/clock/wall-clock.js';
import type { Fleet } from '../live/controller/fleet.js';
import { RemoteLink } from '../live/controller/link/remote-link.js';
import type { LiveController } from '../live/controller/live-controller.js';
import { ControllerRecorder } from '../live/recording/controller-recorder.js';
import { type RecordingEvents, ServerRecorder } from '../live/recording/server-recorder.js';
import type { TimelineFacts } from '../record/timeline-file.js';
import type { Assembly, ClusterObserver } from './cluster.js';

interface RecordingOptions {
  /** True to record from the start. */
  readonly autostart: boolean;
  /** Additional facts for the file. */
  readonly facts: TimelineFacts;
  /** Path for a recording that starts now. */
  readonly newPath: () => string;
  readonly events: RecordingEvents;
}

/** Records timelines of a cluster on request. A recording still running when the cluster ends is written then. */
export class RecordingObserver implements ClusterObserver {
  readonly control: ServerRecorder;
  readonly run: ControllerRecorder;
  readonly events: ControllerRecorder;
  private controller: LiveController | null = null;

  constructor(
    assembly: Assembly,
    private readonly options: RecordingOptions,
  ) {
    this.run = new ControllerRecorder(() => this.controller?.core.requests.size ?? 0);
    this.events = this.run;
    const { newPath, events } = options;
    const { fleet, clock, cluster } = assembly;
    const { models, gpus, spareGpus = 0 } = cluster.spec;
    this.control = new ServerRecorder({
      recorder: this.run,
      clock,
      newPath,
      events,
      models: () => models.map(({ name }) => name),
      gpus: () => namesOf(fleet, gpus + spareGpus),
      facts: () => ({
        ...options.facts,
        host: hostname(),
        node: process.version,
        policy: assembly.settings.policy.kind,
        clock: `ts counts from the start of the controller, as its journal does; ${clockErrors(assembly)}`,
      }),
    });
  }

  /** Throws `E_FILE_WRITE` if it should record from the start and the folder is not writable. */
  started(controller: LiveController): void {
    this.controller = controller;
    if (this.options.autostart) this.control.start();
  }

  async ending(): Promise<void> {
    // `events` receives errors.
    await this.control.stop().catch(() => {});
  }
}

/** Names of the GPUs up to the last that a worker has. */
function namesOf(fleet: Fleet, gpus: number): readonly string[] {
  const workers = Array.from({ length: gpus }, (_, gpu) => fleet.nameOf(gpu));
  const known = workers.slice(0, workers.findLastIndex((worker) => worker !== '') + 1);
  return known.map((worker, gpu) =>
    worker === '' ? `GPU ${gpu} (no worker)` : `GPU ${gpu} (worker ${worker}, ${fleet.deviceOf(gpu)})`,
  );
}

/** Clock errors of the workers. */
function clockErrors({ fleet, clock: controllerClock }: Assembly): string {
  const remote = fleet.links.filter((link) => link instanceof RemoteLink);
  if (remote.length === 0) return 'the GPUs are timed by the same clock';
  const errors = remote.map((link) => {
    // Also while reconnecting: no result has arrived yet.
    const errorNs = link.clockErrorNs(controllerClock.nowNs());
    return `${link.name} by ${errorNs === null ? 'an unknown time' : `${Math.ceil(errorNs / 1000)} µs`}`;
  });
  return `the clocks of the workers may be off: ${errors.join(', ')}`;
}

/** Name of a recording that starts now: `recording-2026-01-31-09-30-00-125.json`, in UTC. */
export function recordingName(atUnixMs: number): string {
  return `recording-${fileStamp(atUnixMs)}.json`;
}
