import { join, resolve } from 'node:path';
import type { RunObserver } from '../core/observer.js';
import { NS_PER_S } from '../core/units.js';
import { Collector } from '../experiment/collector.js';
import { createPolicyOf } from '../experiment/create-policy.js';
import type { Experiment } from '../experiment/experiment.js';
import { openWorkloads } from '../experiment/open-workloads.js';
import { Clock } from '../live/clock.js';
import { Fleet } from '../live/controller/fleet.js';
import { LiveController } from '../live/controller/live-controller.js';
import { type LiveEvents, NO_EVENTS } from '../live/controller/live-events.js';
import { JournalWriter } from '../live/journal/journal-writer.js';
import { type PlayReport, play } from '../live/load/player.js';
import { openServiceTarget } from '../live/load/service-target.js';
import { startMachine } from '../live/machine/local-machine.js';
import { profileName } from '../live/profiler/file-name.js';
import type { WrittenProfile } from '../live/profiler/profile-control.js';
import { Recorder } from '../live/profiler/recorder.js';
import { LocalWorker } from '../live/transport/local-worker.js';
import { fanOut } from '../metrics/fan-out.js';
import type { RunResult } from '../metrics/results.js';
import { experimentDevices, experimentModels } from './experiment-models.js';
import { createProfiler } from './profiling.js';

export interface RunLiveOptions {
  /** Folder, which must exist, for the logs and the timeline that the experiment asks for. */
  readonly outDir?: string;
  /** Called a few times a second with the share of the workload's nominal duration that has passed. */
  readonly onProgress?: (fraction: number) => void;
  /** Where to write down all that enters the core. */
  readonly journal?: string;
  /** Sees what the result is made of, too. */
  readonly observer?: RunObserver;
}

export interface LiveResult {
  readonly result: RunResult;
  /** How the generator of the requests did. */
  readonly played: PlayReport;
  /** What went wrong on the devices, each message once. */
  readonly deviceErrors: readonly string[];
  /** How late each of the controller's timers was, ns. */
  readonly wakeLatenessNs: readonly number[];
  /** The timeline, if `runtime.profiler` asks for one. */
  readonly profile: WrittenProfile | null;
}

const ASSEMBLE_NS = 30 * NS_PER_S;
const HANG_NS = 10 * NS_PER_S;
const DRAIN_NS = 10 * NS_PER_S;

/**
 * Runs one experiment in real time: its workload from a generator in this process, through the scheduler that
 * `simulate` runs, on real models or on GPUs that are simulated in real time. Throws coded errors for bad input and
 * for devices that are not there.
 */
export async function runLive(experiment: Experiment, options: RunLiveOptions = {}): Promise<LiveResult> {
  const workload = await openWorkloads(experiment);
  const machine = await startMachine({
    devices: experimentDevices(experiment),
    models: await experimentModels(experiment),
    pages: experiment.cluster.pages,
    pageBytes: experiment.cluster.pageBytes,
  });
  const collector = new Collector(experiment, workload, options.outDir);
  try {
    return await runOn(new LocalWorker(machine), experiment, collector, workload, options);
  } catch (error) {
    collector.discard();
    throw error;
  } finally {
    await machine.close();
  }
}

async function runOn(
  link: LocalWorker,
  experiment: Experiment,
  collector: Collector,
  { source, durationNs }: Awaited<ReturnType<typeof openWorkloads>>,
  options: RunLiveOptions,
): Promise<LiveResult> {
  const { policy, sloNs, admission } = experiment;
  const fleet = new Fleet([link]);
  // The workload begins with the clock: all that takes long is done by now.
  const clock = new Clock();
  const cluster = await fleet.assemble(() => clock.nowNs(), ASSEMBLE_NS);
  const deviceErrors = new Set<string>();
  const wakeLatenessNs: number[] = [];
  let journalProblem: Error | null = null;
  const journal =
    options.journal === undefined
      ? null
      : new JournalWriter(
          options.journal,
          {
            ...cluster.spec,
            oneLane: cluster.spec.oneLane ?? false,
            policy,
            defaultSloNs: sloNs,
            admission,
          },
          (error) => {
            journalProblem = error;
          },
        );
  const recorder = new Recorder((): number => controller.outstandingRequests);
  const events: LiveEvents = {
    ...NO_EVENTS,
    stepped: (nowNs, tookNs) => recorder.stepped(nowNs, tookNs),
    sent: (action) => recorder.sent(action),
    ran: (action, result) => recorder.ran(action, result),
    wokeLate: (lateNs) => wakeLatenessNs.push(lateNs),
    gpuDown: (gpu, reason) => deviceErrors.add(`GPU ${gpu} was lost: ${reason}`),
    deviceError: (gpu, model, error) => deviceErrors.add(`GPU ${gpu}, ${model}: ${error}`),
  };
  const controller = new LiveController({
    fleet,
    cluster,
    clock,
    createPolicy: createPolicyOf(policy),
    defaultSloNs: sloNs,
    admission,
    observer: fanOut([
      collector.observer,
      recorder,
      ...(options.observer === undefined ? [] : [options.observer]),
    ]),
    events,
    journal,
    hangNs: HANG_NS,
  });
  collector.watch(controller.core);
  let profile: WrittenProfile | null = null;
  let profileProblem: Error | null = null;
  const { profiler: autostart, profilerDir } = experiment.runtime;
  const profiler = createProfiler({
    recorder,
    links: [link],
    fleet,
    cluster,
    clock,
    policy: policy.kind,
    facts: { experiment: experiment.name, seed: experiment.seed },
    newPath: () =>
      options.outDir === undefined
        ? resolve(profilerDir, profileName(performance.timeOrigin + performance.now()))
        : join(options.outDir, 'profile.json'),
    events: {
      started: () => {},
      written: (written) => {
        profile = written;
      },
      failed: (error) => {
        profileProblem = error;
      },
    },
  });
  try {
    if (autostart !== 'off') profiler.start(autostart);
    const models = experiment.models.map(({ name }) => name);
    const played = await play({
      source,
      clock,
      target: openServiceTarget(controller, { models, seed: experiment.seed }),
      onProgress: (nowNs) => options.onProgress?.(Math.min(1, nowNs / durationNs)),
    });
    await controller.drain(DRAIN_NS);
    await profiler.stop().catch(() => {});
    const { digest } = controller.core;
    await controller.close();
    await journal?.close(digest);
    if (journalProblem !== null) throw journalProblem;
    if (profileProblem !== null) throw profileProblem;
    return {
      result: collector.finish(digest, played.requests),
      played,
      deviceErrors: [...deviceErrors],
      wakeLatenessNs,
      profile,
    };
  } catch (error) {
    await controller.close();
    await journal?.close(controller.core.digest);
    throw error;
  }
}
