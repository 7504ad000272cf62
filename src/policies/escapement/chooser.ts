import type { Cluster } from '../../core/cluster.js';
import type { RequestTable } from '../../core/request.js';
import type { DeadlineQueue } from '../common/deadline-queue.js';
import type { Durations } from './durations.js';
import { Fill } from './fill.js';
import { FOLLOWER_WEIGHT, MixedBatch } from './mixed-batch.js';
import type { Waiting } from './waiting.js';

/** Weight of slack per unit of spread in the models' costs, and its upper bound. */
const PER_SPREAD = 3;
const MOST_SLACK_WEIGHT = 4;

/**
 * Chooses a lane's next batch: the one with the highest slack-discounted density, ln(requests / time) − c · slack / W.
 *
 * Density, requests served per GPU time, lets deep queues be served in large batches while shallow ones fill, and sheds
 * expensive requests when not all can be served. Slack is the time that the batch could wait and still be complete:
 * batches with little slack go first, just before they would shrink. W, the time that a GPU needs for everything that
 * waits plus half a batch, is the exchange rate between them: under high load density decides, under low load the
 * deadlines do. Slack counts more where models differ in cost, because density alone would leave expensive ones no
 * chance.
 */
export class Chooser {
  /** Result of the last `choose` that returned true: requests `from` … `from` + `count` − 1 of the queue. */
  model = 0;
  batchIndex = 0;
  /** Bucket and line of the choice, for models with inputs of several lengths. */
  bucket = 0;
  private line = 0;
  from = 0;
  count = 0;
  private readonly mixed: MixedBatch;
  private readonly fill: Fill;

  private readonly logCount: Float64Array;
  private slackWeight = 1;
  private batchNs = 0;

  constructor(
    private readonly cluster: Cluster,
    private readonly requests: RequestTable,
    private readonly durations: Durations,
    private readonly waiting: Waiting,
    /** By model: bonus on its score, to compensate for poor service. */
    private readonly favor: Float64Array,
  ) {
    this.mixed = new MixedBatch(requests, waiting);
    this.fill = new Fill(durations, waiting);
    this.logCount = Float64Array.from({ length: cluster.maxBatch + 1 }, (_, count) => Math.log(count));
    this.modelsChanged();
  }

  /** Call when the set of models has changed. */
  modelsChanged(): void {
    const { cluster, durations } = this;
    if (cluster.modelCount === 0) return;
    const models = cluster.models.map((_, model) => model).filter((model) => cluster.hasModel(model));
    this.slackWeight = Math.min(MOST_SLACK_WEIGHT, 1 + PER_SPREAD * costSpread(models, durations));
    this.batchNs = meanBatchNs(models, durations);
  }

  /**
   * Chooses for a lane of the GPU that is free at `startNs`, if an answer takes `afterNs` from the end of its INFER.
   * False if no waiting request could be answered in time.
   */
  choose(gpu: number, startNs: number, afterNs: number): boolean {
    const { durations, waiting, logCount } = this;
    if (waiting.classes > 1) return this.chooseByWeight(gpu, startNs, afterNs);
    const { byGpu, queues, lineCount } = waiting;
    const { row, usable, size } = durations;
    const { execNs, logExec, mostNs, mostDense } = durations.of(gpu);
    const clock = this.cluster.clock[gpu];
    const perSlack = this.slackWeight / (waiting.backlogNs / this.cluster.up.count + this.batchNs / 2);
    let best = Number.NEGATIVE_INFINITY;
    for (let model = byGpu.next(gpu, 0); model >= 0; model = byGpu.next(gpu, model + 1)) {
      const favor = this.favor[model];
      const last = lineCount[model] - 1;
      if (last === 0) {
        // No batch can score higher than the densest with the slack of the longest.
        const longest = waiting.longestRow[model];
        const leastSlackNs = waiting.headNs[model] - (startNs + mostNs[longest] / clock + afterNs);
        if (mostDense[longest] - Math.max(0, leastSlackNs) * perSlack + favor <= best) continue;
      }
      const isMixed = Number.isNaN(waiting.sloNs[model]);
      for (let line = 0; line <= last; line++) {
        // Most models have one queue.
        const queue = last === 0 ? queues[model] : waiting.queue(model, line);
        const waits = queue.length;
        if (waits === 0) continue;
        const bucket = last === 0 ? 0 : waiting.bucketOf(model, line);
        const first = last === 0 ? row[model] : durations.rowOf(model, bucket);
        const end = first + (last > 0 && waiting.isMixed(model, line) ? 1 : usable[model]);
        let from = 0;
        for (let at = first; at < end; at++) {
          const endNs = startNs + execNs[at] / clock + afterNs;
          while (from < waits && queue.deadlineNsAt(from) < endNs) from++;
          const left = waits - from;
          if (left === 0) break;
          const shorter = bucket === 0 ? 0 : this.fill.countInTime(model, bucket, endNs);
          if (at > first && left + shorter <= size[at - 1]) break;
          const count = Math.min(left, size[at]);
          let worth = isMixed ? this.logWorth(queue, from, count, perSlack) : logCount[count];
          let fill = 0;
          if (shorter > 0 && count < size[at]) {
            fill = Math.min(shorter, size[at] - count);
            worth = Math.log(Math.exp(worth) + this.fill.worth(model, bucket, fill, endNs));
          }
          const slackNs = queue.deadlineNsAt(from) - endNs;
          const score = worth - logExec[at] - slackNs * perSlack + favor;
          if (score <= best) continue;
          best = score;
          this.model = model;
          this.bucket = bucket;
          this.line = line;
          this.batchIndex = at - first;
          this.from = from;
          this.count = count + fill;
          this.fill.keep(fill, endNs);
        }
      }
    }
    return best > Number.NEGATIVE_INFINITY;
  }

  /** Moves the requests of the choice, an INFER of `durationNs`, into `batch`. Returns their earliest deadline, ns. */
  take(batch: Int32Array, durationNs: number): number {
    const { waiting, model } = this;
    if (waiting.classes > 1) return this.mixed.take(model, batch, durationNs);
    const firstNs = waiting.queue(model, this.line).deadlineNsAt(this.from);
    const own = this.count - this.fill.count;
    waiting.take(model, this.from, own, batch, this.line);
    return this.fill.count === 0
      ? firstNs
      : Math.min(firstNs, this.fill.take(model, this.bucket, batch, own));
  }

  /** Chooses if requests have weights: a batch takes the most valuable ones, of any class. */
  private chooseByWeight(gpu: number, startNs: number, afterNs: number): boolean {
    const { durations, waiting, mixed } = this;
    const { byGpu } = waiting;
    const { row, usable, size } = durations;
    const { execNs, logExec } = durations.of(gpu);
    const clock = this.cluster.clock[gpu];
    const perSlack = this.slackWeight / (waiting.backlogNs / this.cluster.up.count + this.batchNs / 2);
    let best = Number.NEGATIVE_INFINITY;
    for (let model = byGpu.next(gpu, 0); model >= 0; model = byGpu.next(gpu, model + 1)) {
      const first = row[model];
      const end = first + usable[model];
      mixed.begin(model);
      for (let at = first; at < end; at++) {
        const left = mixed.leaveOut(startNs + execNs[at] / clock + afterNs);
        if (left === 0 || (at > first && left <= size[at - 1])) break;
        const score = mixed.fill(Math.min(left, size[at]), perSlack) - logExec[at] + this.favor[model];
        if (score <= best) continue;
        best = score;
        this.model = model;
        this.batchIndex = at - first;
        this.count = Math.min(left, size[at]);
        mixed.keep();
      }
    }
    return best > Number.NEGATIVE_INFINITY;
  }

  /**
   * Logarithm of the value of a batch with different SLOs: requests with a longer SLO than the first count less,
   * because they could be served later, and would delay urgent ones elsewhere.
   */
  private logWorth(queue: DeadlineQueue, from: number, count: number, perSlack: number): number {
    const { sloNs } = this.requests;
    const firstNs = sloNs[queue.slotAt(from)];
    let worth = 0;
    for (let i = from; i < from + count; i++) {
      const longerNs = sloNs[queue.slotAt(i)] - firstNs;
      worth += longerNs > 0 ? Math.exp(-FOLLOWER_WEIGHT * longerNs * perSlack) : 1;
    }
    return Math.log(worth);
  }
}

/** Standard deviation of the logarithm of the minimum cost per request, over the models and their buckets. */
function costSpread(models: readonly number[], durations: Durations): number {
  const costs = largestRows(models, durations).map(
    (row) => durations.logExec[row] - Math.log(durations.size[row]),
  );
  const mean = costs.reduce((sum, cost) => sum + cost, 0) / costs.length;
  return Math.sqrt(costs.reduce((sum, cost) => sum + (cost - mean) ** 2, 0) / costs.length);
}

/** Mean time of the largest batches of the models and their buckets. */
function meanBatchNs(models: readonly number[], durations: Durations): number {
  const rows = largestRows(models, durations);
  return rows.reduce((sum, row) => sum + durations.execNs[row], 0) / rows.length;
}

function largestRows(models: readonly number[], durations: Durations): number[] {
  return models.flatMap((model) =>
    Array.from(
      { length: durations.buckets[model] },
      (_, bucket) => durations.rowOf(model, bucket) + durations.usable[model] - 1,
    ),
  );
}
