import { NS_PER_MS, NS_PER_S } from '../../../base/units.js';
import { OUTCOME_NAMES, REQUEST_FREE, REQUEST_QUEUED, type RequestTable } from '../../../core/request.js';
import {
  STAGE_COPY_IN,
  STAGE_COPY_OUT,
  STAGE_EXEC,
  STAGE_QUEUE,
  type Stage,
} from '../telemetry/stage-averages.js';
import { type ClusterStatus, type ModelStatus, STATUS_VERSION } from './cluster-status.js';
import { describeGpus } from './describe-gpus.js';
import { describeSenders } from './describe-senders.js';
import { ARRIVED, type Counted, FAILED, GOOD } from './request-activity.js';
import { round } from './round.js';
import { HISTORY_SECONDS, WINDOW_SECONDS } from './status-collector.js';
import type { StatusSources } from './status-sources.js';

const MOST_MODELS = 200;

/** Describes the state of a controller. Takes about a millisecond for 100 GPUs and 4,000 models. */
export function describeCluster(sources: StatusSources): ClusterStatus {
  const { collector, core, policy, host, ready, scaling, nowNs } = sources;
  const second = Math.floor(nowNs / NS_PER_S);
  const fromSecond = Math.max(0, second - WINDOW_SECONDS);
  const windowSeconds = Math.max(nowNs / NS_PER_S - fromSecond, 1e-3);
  const unanswered = countUnanswered(core.requests, core.cluster.models.length, fromSecond);
  const perS = (count: number) => round(count / windowSeconds);
  const rate = (counted: Counted) => perS(collector.requests.inAll(counted, fromSecond, second));
  const window: Window = { fromSecond, second, perS };
  const chosen = mostActive(sources, window, unanswered);
  return {
    version: STATUS_VERSION,
    policy,
    host,
    upSeconds: round(nowNs / NS_PER_S),
    ready,
    windowSeconds: round(windowSeconds),
    requests: {
      offeredRps: perS(
        collector.requests.inAll(ARRIVED, fromSecond, second) + sumOf(unanswered.recentByModel),
      ),
      goodputRps: rate(GOOD),
      failedRps: rate(FAILED),
      unanswered: core.requests.size,
      totals: Object.fromEntries(
        OUTCOME_NAMES.map((name, outcome) => [name, collector.requests.totals[outcome]]),
      ),
      lastMinute: lastMinute(sources, second),
    },
    gpus: describeGpus(sources, fromSecond),
    ...(scaling === null ? {} : { scaling }),
    ...describeSenders(sources, window),
    models: chosen.map((model) => describeModel(sources, window, unanswered, model)),
    otherModels: core.cluster.modelCount - chosen.length,
  };
}

interface Window {
  readonly fromSecond: number;
  readonly second: number;
  readonly perS: (count: number) => number;
}

interface Unanswered {
  /** By model: waiting requests, and arrivals within the window. */
  readonly queuedByModel: Int32Array;
  readonly recentByModel: Int32Array;
}

function countUnanswered(
  { state, model, arrivalNs }: RequestTable,
  models: number,
  fromSecond: number,
): Unanswered {
  const queuedByModel = new Int32Array(models);
  const recentByModel = new Int32Array(models);
  for (let slot = 0; slot < state.length; slot++) {
    if (state[slot] === REQUEST_FREE) continue;
    if (state[slot] === REQUEST_QUEUED) queuedByModel[model[slot]]++;
    if (arrivalNs[slot] >= fromSecond * NS_PER_S) recentByModel[model[slot]]++;
  }
  return { queuedByModel, recentByModel };
}

/** By arrivals and waiting requests; ties by copies. */
function mostActive(
  { collector, core }: StatusSources,
  { fromSecond, second }: Window,
  { queuedByModel, recentByModel }: Unanswered,
): number[] {
  const { models, modelCount, warm, gpus } = core.cluster;
  // One number encodes both the sort key and the model: numbers are sorted without callbacks, many times as fast.
  const keys = new Float64Array(modelCount);
  let at = 0;
  for (let model = 0; model < models.length; model++) {
    if (!core.cluster.hasModel(model)) continue;
    const arrived = collector.requests.ofModel(model, ARRIVED, fromSecond, second);
    const activity = arrived + recentByModel[model] + queuedByModel[model];
    keys[at++] = (activity * (gpus + 1) + warm.count(model) + 1) * models.length - model;
  }
  const descending = keys.sort().reverse().subarray(0, MOST_MODELS);
  return Array.from(descending, (key) => (models.length - (key % models.length)) % models.length);
}

function describeModel(
  { collector, core, nowNs }: StatusSources,
  { fromSecond, second, perS }: Window,
  { queuedByModel, recentByModel }: Unanswered,
  model: number,
): ModelStatus {
  const count = (counted: Counted) => collector.requests.ofModel(model, counted, fromSecond, second);
  const stageMs = (stage: Stage) => {
    const meanNs = collector.averages.meanNs([model], stage, nowNs);
    return meanNs === null ? null : round(meanNs / NS_PER_MS);
  };
  return {
    name: core.cluster.models[model].name,
    copies: core.cluster.warm.count(model),
    queued: queuedByModel[model],
    offeredRps: perS(count(ARRIVED) + recentByModel[model]),
    goodputRps: perS(count(GOOD)),
    failedRps: perS(count(FAILED)),
    queueMs: stageMs(STAGE_QUEUE),
    copyInMs: stageMs(STAGE_COPY_IN),
    execMs: stageMs(STAGE_EXEC),
    copyOutMs: stageMs(STAGE_COPY_OUT),
  };
}

function lastMinute({ collector, core }: StatusSources, second: number) {
  const first = Math.max(0, second - HISTORY_SECONDS);
  const each = (counted: Counted) =>
    Array.from({ length: second - first }, (_, i) => collector.requests.inSecond(counted, first + i));
  const arrived = each(ARRIVED);
  const { state, arrivalNs } = core.requests;
  for (let slot = 0; slot < state.length; slot++) {
    const at = Math.floor(arrivalNs[slot] / NS_PER_S) - first;
    if (state[slot] !== REQUEST_FREE && at >= 0 && at < arrived.length) arrived[at]++;
  }
  return { offeredRps: arrived, goodputRps: each(GOOD), failedRps: each(FAILED) };
}

function sumOf(counts: Int32Array): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
