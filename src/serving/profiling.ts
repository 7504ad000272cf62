import { hostname } from 'node:os';
import type { Clock } from '../live/clock.js';
import type { WorkerCluster } from '../live/controller/cluster-of-workers.js';
import type { Fleet } from '../live/controller/fleet.js';
import { Profiler, type ProfilerEvents } from '../live/profiler/profiler.js';
import type { Recorder } from '../live/profiler/recorder.js';
import { RemoteWorker } from '../live/transport/remote-worker.js';
import type { WorkerLink } from '../live/worker-link.js';
import type { TraceFacts } from '../metrics/trace-file.js';

export interface ProfilingOptions {
  readonly recorder: Recorder;
  readonly links: readonly WorkerLink[];
  /** Of those links, as one. */
  readonly fleet: Fleet;
  readonly cluster: WorkerCluster;
  readonly clock: Clock;
  readonly policy: string;
  /** Further facts for the file. */
  readonly facts: TraceFacts;
  /** Where to write the recording that starts now. */
  readonly newPath: () => string;
  readonly events: ProfilerEvents;
}

/** The profiler of a controller and of the workers that it drives. */
export function createProfiler(options: ProfilingOptions): Profiler {
  const { recorder, links, fleet, cluster, clock, policy, newPath, events } = options;
  const nowNs = () => clock.nowNs();
  return new Profiler({
    recorder,
    fleet,
    nowNs,
    newPath,
    events,
    models: cluster.spec.models.map(({ name }) => name),
    gpus: Array.from(
      { length: cluster.spec.gpus },
      (_, gpu) => `GPU ${gpu} (worker ${fleet.nameOf(gpu)}, ${fleet.deviceOf(gpu)})`,
    ),
    facts: () => ({
      ...options.facts,
      host: hostname(),
      node: process.version,
      policy,
      clock: `ts counts from the start of the controller, as its journal does; ${errorsText(links, nowNs())}`,
    }),
  });
}

/** How well the clocks of the workers are known. */
function errorsText(links: readonly WorkerLink[], nowNs: number): string {
  const remote = links.filter((link) => link instanceof RemoteWorker);
  if (remote.length === 0) return 'the GPUs are timed by the same clock';
  const errors = remote.map(({ name, clock }) =>
    // Also while it connects again: nothing has come back yet.
    clock === null || clock.samples === 0
      ? `${name} by an unknown time`
      : `${name} by ${Math.ceil(clock.errorNs(nowNs) / 1000)} µs`,
  );
  return `the clocks of the workers may be off: ${errors.join(', ')}`;
}
