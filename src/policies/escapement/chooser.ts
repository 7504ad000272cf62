import { lowestBit } from '../../base/bits.js';
import type { Cluster } from '../../core/cluster.js';
import type { RequestTable } from '../../core/request.js';
import type { DeadlineQueue } from '../common/deadline-queue.js';
import type { Durations } from './durations.js';
import { FOLLOWER_WEIGHT, MixedBatch } from './mixed-batch.js';
import type { Waiting } from './waiting.js';

/** Weight of slack if requests differ much in what they are worth per GPU time; 1 if they are alike. */
const MOST_SLACK_WEIGHT = 3;

/**
 * Chooses a lane's next batch: the one with the highest slack-discounted density, ln(requests / time) − c · slack / W.
 *
 * Density, requests served per GPU time, lets deep queues be served in large batches while shallow ones fill, and sheds
 * expensive requests when not all can be served. Slack is the time that the batch could wait and still be complete:
 * batches with little slack go first, just before they would shrink. W, the time that a GPU needs for everything that
 * waits plus half a batch, is the exchange rate between them: under high load density decides, under low load the
 * deadlines do. Slack counts more where requests differ in cost or weight, because density alone would leave expensive or
 * light ones no chance.
 */
export class Chooser {
  /** Result of the last `choose` that returned true: requests `from` … `from` + `count` − 1 of the queue. */
  model = 0;
  batchIndex = 0;
  /** Bucket of the choice, for models with inputs of several lengths. */
  bucket = 0;
  from = 0;
  count = 0;
  private isMixed = false;
  private readonly mixed: MixedBatch;
  private score = 0;
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
    this.mixed = new MixedBatch(requests, waiting, durations);
    this.modelsChanged();
  }

  /** Call when the set of models has changed. */
  modelsChanged(): void {
    const { cluster, durations } = this;
    if (cluster.modelCount === 0) return;
    const models = cluster.models.map((_, model) => model).filter((model) => cluster.hasModel(model));
    this.slackWeight = Math.min(MOST_SLACK_WEIGHT, 1 + MOST_SLACK_WEIGHT * this.spread(models));
    this.batchNs = meanBatchNs(models, durations);
  }

  /**
   * Chooses for a lane of the GPU that is free at `startNs`, if an answer takes `afterNs` from the end of its INFER; the
   * first model if several score the same. False if no waiting request could be answered in time.
   */
  choose(gpu: number, startNs: number, afterNs: number): boolean {
    const { waiting, favor } = this;
    const { classes, words, lineCount, headNs } = waiting;
    const { limitNs, limitDense } = this.durations.of(gpu);
    const clock = this.cluster.clock[gpu];
    const readyNs = startNs + afterNs;
    const perSlack = this.slackWeight / (waiting.backlogNs / this.cluster.up.count + this.batchNs / 2);
    this.score = Number.NEGATIVE_INFINITY;
    for (let word = 0; word < words; word++)
      for (let rest = waiting.word(gpu, word); rest !== 0; rest &= rest - 1) {
        const model = (word << 5) + lowestBit(rest);
        // No batch can score higher than the densest with the slack of the longest.
        const leastSlackNs = headNs[model] - (readyNs + limitNs[model] / clock);
        const lost = leastSlackNs > 0 ? leastSlackNs * perSlack : 0;
        if (limitDense[model] - lost + favor[model] <= this.score) continue;
        if (classes > 1 || lineCount[model] > 1) this.chooseMixed(gpu, model, readyNs, perSlack);
        else this.chooseUniform(gpu, model, readyNs, perSlack);
      }
    return this.score > Number.NEGATIVE_INFINITY;
  }

  /** Moves the requests of the choice, an INFER of `durationNs`, into `batch`. Returns their earliest deadline, ns. */
  take(batch: Int32Array, durationNs: number): number {
    const { waiting, model, from } = this;
    if (this.isMixed) return this.mixed.take(model, batch, durationNs);
    const firstNs = waiting.queues[model].deadlineNsAt(from);
    waiting.take(model, from, this.count, batch);
    return firstNs;
  }

  /** Improves the choice by a batch of a model whose requests are alike but for their SLOs. */
  private chooseUniform(gpu: number, model: number, readyNs: number, perSlack: number): void {
    const { waiting } = this;
    const { row, usable, size, logCount } = this.durations;
    const { execNs, logExec } = this.durations.of(gpu);
    const clock = this.cluster.clock[gpu];
    const favor = this.favor[model];
    const hasSlos = Number.isNaN(waiting.sloNs[model]);
    const queue = waiting.queues[model];
    const waits = queue.length;
    const first = row[model];
    const end = first + usable[model];
    let from = 0;
    for (let at = first; at < end; at++) {
      const endNs = readyNs + execNs[at] / clock;
      while (from < waits && queue.deadlineNsAt(from) < endNs) from++;
      const left = waits - from;
      if (left === 0 || (at > first && left <= size[at - 1])) break;
      const count = Math.min(left, size[at]);
      const worth = hasSlos ? this.logWorth(queue, from, count, perSlack) : logCount[count];
      const slackNs = queue.deadlineNsAt(from) - endNs;
      const score = worth - logExec[at] - slackNs * perSlack + favor;
      if (score <= this.score) continue;
      this.score = score;
      this.model = model;
      this.bucket = 0;
      this.isMixed = false;
      this.batchIndex = at - first;
      this.from = from;
      this.count = count;
    }
  }

  /** Improves the choice by a batch of a model whose requests differ in weight or length. */
  private chooseMixed(gpu: number, model: number, readyNs: number, perSlack: number): void {
    const { durations, waiting, mixed } = this;
    const { usable, size } = durations;
    const { execNs, logExec } = durations.of(gpu);
    const clock = this.cluster.clock[gpu];
    for (let line = 0; line < waiting.lineCount[model]; line++) {
      const bucket = waiting.bucketOf(model, line);
      const first = durations.rowOf(model, bucket);
      const end = first + (waiting.isMixed(model, line) ? 1 : usable[model]);
      if (!mixed.begin(model, line)) continue;
      for (let at = first; at < end; at++) {
        const left = mixed.leaveOut(readyNs + execNs[at] / clock);
        if (left === 0 || (at > first && left <= size[at - 1])) break;
        const count = Math.min(left, size[at]);
        const score = mixed.fill(count, perSlack) - logExec[at] + this.favor[model];
        if (score <= this.score) continue;
        this.score = score;
        this.model = model;
        this.bucket = bucket;
        this.isMixed = true;
        this.batchIndex = at - first;
        this.count = count;
        mixed.keep();
      }
    }
  }

  /**
   * Standard deviation of the logarithm of what requests are worth per GPU time in full batches, over the models, their
   * buckets and the classes.
   */
  private spread(models: readonly number[]): number {
    const { durations, waiting } = this;
    const costs = largestRows(models, durations).map(
      (row) => durations.logExec[row] - Math.log(durations.size[row]),
    );
    const classes = Array.from({ length: waiting.classes }, (_, c) => Math.log(waiting.weights.declared(c)));
    return Math.sqrt(variance(costs) + variance(classes));
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

function variance(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
}
