import { join } from 'node:path';
import type { RunObserver } from '../core/observer.js';
import { NS_PER_MS } from '../core/units.js';
import { ActionLog } from '../metrics/action-log.js';
import { writeChromeTrace } from '../metrics/chrome-trace.js';
import { fanOut } from '../metrics/fan-out.js';
import { Recorder } from '../metrics/recorder.js';
import { RequestLog } from '../metrics/request-log.js';
import type { RunResult } from '../metrics/results.js';
import { buildGroups, buildLatencyCdf, buildSummary, buildTimeSeries } from '../metrics/summary.js';
import { Timeline } from '../metrics/timeline.js';
import { Simulator } from '../sim/simulator.js';
import { createPolicyOf } from './create-policy.js';
import type { Experiment } from './experiment.js';
import { openWorkloads } from './open-workloads.js';

export interface SimulateOptions {
  /** Folder, which must exist, for the logs and the timeline that the experiment asks for. */
  readonly outDir?: string;
  /** Called now and then with the share of the workload's nominal duration that has passed, and waited for. */
  readonly onProgress?: (fraction: number) => void | Promise<void>;
}

/** Something that writes while the run goes on: kept if the run succeeds, removed if not. */
interface Log extends RunObserver {
  close(): void;
  discard(): void;
}

/**
 * Runs one experiment against simulated GPUs in this thread. The same experiment always gives the same result,
 * except for `summary.wall`. Throws coded errors for bad input that is only met while running, e.g. in
 * a trace that is streamed.
 */
export async function simulate(experiment: Experiment, options: SimulateOptions = {}): Promise<RunResult> {
  const began = performance.now();
  const { cluster, models } = experiment;
  const workload = await openWorkloads(experiment);
  const recorder = new Recorder({
    gpus: cluster.gpus,
    durationNs: workload.durationNs,
    warmupNs: experiment.warmupNs,
    models,
    sections: workload.sections,
    sectionStarts: workload.sectionStarts,
  });
  const timeline = openTimeline(experiment);
  const logs = openLogs(experiment, options.outDir);
  const simulator = new Simulator({
    ...cluster,
    models,
    defaultSloNs: experiment.sloNs,
    createPolicy: createPolicyOf(experiment.policy),
    source: workload.source,
    seed: experiment.seed,
    observer: fanOut([recorder, ...(timeline === null ? [] : [timeline]), ...logs]),
    checks: experiment.checks,
  });
  try {
    await simulator.run((nowNs) => options.onProgress?.(Math.min(1, nowNs / workload.durationNs)));
    for (const log of logs) log.close();
  } catch (error) {
    for (const log of logs) log.discard();
    throw error;
  }
  const summary = buildSummary(recorder, {
    name: experiment.name,
    seed: experiment.seed,
    digest: simulator.controller.digest,
    policy: experiment.policy.kind,
    wall: wallSince(began, simulator.arrivals),
  });
  const entries = timeline?.entries() ?? [];
  if (options.outDir !== undefined && timeline !== null) {
    const facts = { seed: experiment.seed, digest: summary.digest, actionsLeftOut: timeline.dropped };
    writeChromeTrace(join(options.outDir, 'timeline.json'), entries, facts);
  }
  const slosMs = workload.sectionSlosNs.map((sloNs) => (sloNs === null ? null : sloNs / NS_PER_MS));
  const { text, overrides } = experiment.source;
  return {
    version: 1,
    experiment: text,
    ...(overrides.length === 0 ? {} : { overrides }),
    summary,
    sloMs: slosMs.every((sloMs) => sloMs === slosMs[0]) ? slosMs[0] : null,
    groups: buildGroups(recorder, slosMs),
    series: buildTimeSeries(recorder),
    latencyCdf: buildLatencyCdf(recorder),
    timeline: entries,
  };
}

function openTimeline(experiment: Experiment): Timeline | null {
  const slice = experiment.output.timelineNs;
  return slice === null
    ? null
    : new Timeline({ fromNs: slice[0], toNs: slice[1], models: experiment.models });
}

function openLogs(experiment: Experiment, outDir: string | undefined): Log[] {
  const { output, models, cluster } = experiment;
  const logs: Log[] = [];
  if (outDir === undefined) return logs;
  if (output.requestLog) logs.push(new RequestLog(join(outDir, 'requests.tsv'), models));
  if (output.actionLog) logs.push(new ActionLog(join(outDir, 'actions.tsv'), cluster));
  return logs;
}

function wallSince(began: number, arrivals: number) {
  const seconds = (performance.now() - began) / 1000;
  return {
    seconds,
    requestsPerSecond: arrivals / seconds,
    peakRssBytes: process.resourceUsage().maxRSS * 1024,
  };
}
