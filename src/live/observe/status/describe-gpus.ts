import { NS_PER_MS } from '../../../base/units.js';
import { type Action, LANE_NAMES, LOAD } from '../../../core/action.js';
import { warmModels } from '../warm-models.js';
import type { GpuStatus, LaneStatus } from './cluster-status.js';
import { round } from './round.js';
import type { StatusSources } from './status-sources.js';

/** GPUs up to the last that a worker has, with the activity of their lanes from `fromSecond` up to now. */
export function describeGpus(sources: StatusSources, fromSecond: number): GpuStatus[] {
  const { cluster } = sources.core;
  const held = warmModels(cluster);
  const lanes = cluster.oneLane ? [LANE_NAMES.join('+')] : LANE_NAMES;
  const workers = cluster.pages.map((_, gpu) => sources.workerOf(gpu));
  const end = workers.findLastIndex((worker) => worker !== '') + 1;
  return cluster.pages.slice(0, end).map((pages, gpu) => ({
    up: cluster.up.has(gpu),
    worker: workers[gpu],
    kind: sources.kindOf(gpu),
    lanes: lanes.map((name, lane) => describeLane(sources, fromSecond, gpu, lane, name)),
    pages: pages.capacity,
    freePages: pages.free,
    warmModels: held[gpu],
  }));
}

function describeLane(
  { collector, core, nowNs }: StatusSources,
  fromSecond: number,
  gpu: number,
  lane: number,
  name: string,
): LaneStatus {
  const { cluster } = core;
  const timeline = (lane === 0 ? cluster.exec : cluster.weights)[gpu];
  const isBooked = !timeline.isClosed && timeline.outstanding > 0;
  const running = collector.lanes.running(gpu, lane, nowNs);
  return {
    lane: name,
    busy: round(collector.lanes.share(gpu, lane, fromSecond, nowNs)),
    bookedMs: isBooked ? round((timeline.availableNs(nowNs) - nowNs) / NS_PER_MS) : 0,
    running: running === null ? '' : whatRuns(running, cluster.models[running.model].name),
  };
}

function whatRuns({ kind, batchSize }: Action, model: string): string {
  return kind === LOAD ? `LOAD ${model}` : `${model} ×${batchSize}`;
}
