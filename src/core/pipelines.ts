import type { Cluster } from './cluster.js';
import { bucketOf } from './lengths.js';
import { type ModelSpec, shortestExecNs } from './model.js';
import { predictLatencyNs } from './prediction.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
  REQUEST_IN_PIPELINE,
  type RequestTable,
} from './request.js';
import { LIMIT_NONE, LIMIT_PIPELINE } from './tenants.js';

/**
 * Ways to derive the deadline of each step. `equal`, `proportional` (to the time of one request alone) and `fixed` (by
 * given weights) split the SLO in advance; `slack` gives a step, when it begins, the time left, less the time that
 * later steps are expected to need with the present queues.
 */
export const SPLITS = ['slack', 'equal', 'proportional', 'fixed'] as const;
export type Split = (typeof SPLITS)[number];

/** Most steps, as results have a part for each. */
export const MOST_STEPS = 32;

/** Most requests of a step per request of its pipeline. */
export const MOST_FAN_OUT = 255;

/** A model that may serve a step, with its accuracy. */
interface Variant {
  readonly model: number;
  readonly accuracy: number;
}

/** Most pipelines of a controller with models added at run time. */
export const MOST_PIPELINES = 64;

/** A step of a pipeline: requests for one model. */
export interface PipelineStep {
  readonly id: string;
  /** Index among the models of the run; of several variants the most accurate. */
  readonly model: number;
  /** Alternative models for a request, the most accurate first; absent: only the one. */
  readonly variants?: readonly Variant[];
  /** Steps that must have ended, by index; all before this one. */
  readonly after: readonly number[];
  /** Number of its requests: fewest, and the mean. */
  readonly least: number;
  readonly mean: number;
  /** Weight of its part of the SLO, for `fixed`. */
  readonly budget: number;
}

/** A directed graph of steps with one deadline. */
export interface PipelineSpec {
  readonly name: string;
  /** Steps in an order in which they can run. */
  readonly steps: readonly PipelineStep[];
  readonly split: Split;
}

/** The controller, as pipelines use it. */
interface PipelineHost {
  readonly cluster: Cluster;
  readonly requests: RequestTable;
  /** True if arriving requests are admitted by prediction. */
  readonly predicts: boolean;
  isServing(model: number): boolean;
  /** Number of models that its slot has had. */
  tenancy(model: number): number;
  queued(model: number): number;
  offer(
    model: number,
    arrivalNs: number,
    sloNs: number,
    user: number,
    requestClass: number,
    tenant: number,
  ): number;
  cancel(slot: number): void;
  /** Reports a request of a step, number `i` of its flow, in `own`. */
  begun(slot: number, step: number, i: number, own: number): void;
  /** Answers the request of a pipeline and frees its slot. */
  ended(slot: number, outcome: Outcome, nowNs: number): void;
}

/** A pipeline's request in progress. */
interface Flow {
  readonly slot: number;
  readonly pipeline: Pipeline;
  /** By step: its number of requests, read only when the step begins. */
  readonly counts: Int32Array;
  /** By step: `TO_COME`, or the number of its unanswered requests. */
  readonly open: Int32Array;
  /** Slots of unanswered step requests. */
  readonly slots: Set<number>;
  /** GPU time that its remaining requests need. */
  workNs: number;
  hasBegun: boolean;
  hasEnded: boolean;
  /** True if a step could not be given its inputs. */
  isBroken: boolean;
  /** True once a request of a step was executed. */
  wasExecuted: boolean;
  /** Product of the mean accuracies of the begun steps with variants; 0: none. */
  accuracy: number;
}

const TO_COME = -1;

/** Number of requests over which their GPU time is averaged. */
const COST_REQUESTS = 64;

interface Pipeline extends PipelineSpec {
  /** Work of its requests, and the SLO of the last one. */
  workNs: number;
  sloNs: number;
  /** Number of the first step among those of all pipelines, from 1. */
  readonly firstStep: number;
  /** By step: steps that wait for it. */
  readonly next: readonly (readonly number[])[];
  /** By step: share of the SLO after which it must end; null: `slack`; undefined: not computed yet. */
  shares?: readonly number[] | null;
  /** By step and variant: `tenancy` of its model, as another model may get the slot. */
  readonly tenancies: readonly (readonly number[])[];
}

/**
 * Requests of pipelines, each a set of requests for models with one deadline. The controller serves the requests of a
 * step like any others, and offers those of the next step as soon as the last one before it is answered. The request of
 * the pipeline itself has a slot in the same table. It is answered once: by its last step, or as soon as one of its
 * requests fails or the remaining steps can no longer meet the deadline; waiting requests of other steps are then
 * withdrawn.
 *
 * A step without requests is skipped, and so is one after skipped steps only.
 */
export class Pipelines {
  private readonly pipelines: Pipeline[] = [];
  /** By slot: the flow that a pipeline's or a step's request belongs to. */
  private readonly flows: (Flow | undefined)[] = [];
  /** By model: GPU time that each of its requests took lately. */
  private readonly costs: number[] = [];
  /** By step: recent requests, with a weight that decays over time. */
  private readonly recent: { count: number; atNs: number }[] = [];
  /** By step, for the flow measured last: its duration, and the time from its end to the end of the pipeline. */
  private readonly ownNs: number[] = [];
  private readonly restNs: number[] = [];
  /** By step: the same as lower bounds, below which a request is dropped. */
  private readonly ownLeastNs: number[] = [];
  private readonly restLeastNs: number[] = [];
  private steps = 1;

  /** `first`: number of the first pipeline in `RequestTable.model`, after all models. */
  constructor(
    specs: readonly PipelineSpec[],
    private readonly first: number,
    private readonly host: PipelineHost,
  ) {
    for (const [index, spec] of specs.entries()) this.put(index, spec);
  }

  /** Replaces a pipeline; requests of its predecessor go on as they began. Returns `firstStep`. */
  put(index: number, spec: PipelineSpec): number {
    const { steps } = spec;
    const next = steps.map((_, s) => steps.flatMap(({ after }, t) => (after.includes(s) ? t : [])));
    const before = this.pipelines[index];
    const firstStep = before?.steps.length === steps.length ? before.firstStep : this.steps;
    this.steps = Math.max(this.steps, firstStep + steps.length);
    while (this.recent.length < this.steps) this.recent.push({ count: 0, atNs: 0 });
    const tenancies = steps.map((step) => variantsOf(step).map(({ model }) => this.host.tenancy(model)));
    this.pipelines[index] = { ...spec, workNs: 0, sloNs: 0, firstStep, next, tenancies };
    return firstStep;
  }

  nameOf(index: number): string | undefined {
    return this.pipelines[index]?.name;
  }

  /** True if requests for the pipeline may be offered. */
  isServing(index: number): boolean {
    const pipeline = this.pipelines[index];
    return pipeline?.steps.every((_, s) => this.serves(pipeline, s)) === true;
  }

  /**
   * Sets the number of requests of a later step, from the outputs of the step's request in `slot`, which is about to end
   * and fails if they are too many, or negative.
   */
  setCount(slot: number, later: number, count: number): void {
    const flow = this.flows[slot];
    if (flow === undefined) return;
    if (count < 0 || count > MOST_FAN_OUT) flow.isBroken = true;
    else flow.counts[later] = count;
  }

  /** Takes in a new request of a pipeline. */
  arrived(slot: number, counts: Int32Array): void {
    const { requests } = this.host;
    const pipeline = this.pipelines[requests.model[slot] - this.first];
    requests.state[slot] = REQUEST_IN_PIPELINE;
    requests.limit[slot] = LIMIT_NONE;
    this.flows[slot] = {
      ...{ slot, pipeline, counts },
      open: new Int32Array(pipeline.steps.length).fill(TO_COME),
      slots: new Set(),
      ...{ workNs: 0, hasBegun: false, hasEnded: false, isBroken: false, wasExecuted: false, accuracy: 0 },
    };
  }

  /** Begins a pipeline's request, or refuses it. */
  begin(slot: number, nowNs: number): void {
    const flow = this.flows[slot] as Flow;
    flow.hasBegun = true;
    const { requests } = this.host;
    requests.arrivalCopies[slot] = this.copies(slot);
    if (requests.isCancelled[slot] === 1) this.end(flow, OUTCOME_CANCELLED, nowNs);
    else if (this.isOverloaded(flow, nowNs)) this.fail(flow, 0, OUTCOME_REJECTED, nowNs);
    else {
      for (const step of flow.pipeline.steps) this.addWork(flow, fastest(step), step.mean);
      this.goOn(flow, nowNs);
    }
  }

  /** Withdraws a pipeline's request after its client has gone. */
  withdraw(slot: number, nowNs: number): void {
    const flow = this.flows[slot] as Flow;
    if (flow.hasBegun) this.end(flow, OUTCOME_CANCELLED, nowNs);
  }

  /** Fewest GPUs that hold a model of the pipeline. */
  copies(slot: number): number {
    const { requests, cluster } = this.host;
    const { steps } = this.pipelines[requests.model[slot] - this.first];
    const copies = (step: PipelineStep) =>
      Math.max(...variantsOf(step).map(({ model }) => cluster.warm.count(model)));
    return steps.reduce((least, step) => Math.min(least, copies(step)), cluster.gpus);
  }

  /** Records a successful INFER of a number of requests. */
  executed(model: number, durationNs: number, count: number): void {
    const beforeNs = this.costNs(model);
    this.costs[model] = beforeNs + (durationNs / count - beforeNs) * Math.min(1, count / COST_REQUESTS);
  }

  /** Records the answer to a request for a model. Returns false if it is not of a pipeline. */
  answered(slot: number, outcome: Outcome, nowNs: number): boolean {
    const { requests } = this.host;
    const step = requests.step[slot];
    if (step === 0) return false;
    const flow = this.flows[slot] as Flow;
    this.flows[slot] = undefined;
    requests.step[slot] = 0;
    requests.accuracy[slot] = 0;
    flow.slots.delete(slot);
    if (flow.hasEnded) return true;
    const own = step - flow.pipeline.firstStep;
    if (outcome > OUTCOME_LATE) this.fail(flow, own, outcome, nowNs, slot);
    else if (flow.isBroken) this.fail(flow, own, OUTCOME_ERROR, nowNs, slot);
    else {
      flow.wasExecuted = true;
      this.addWork(flow, requests.model[slot], -1);
      if (--flow.open[own] === 0) this.goOn(flow, nowNs);
    }
    return true;
  }

  /** Begins all steps whose predecessors have ended; ends the request after the last. */
  private goOn(flow: Flow, nowNs: number): void {
    const { pipeline, open, counts } = flow;
    const { steps } = pipeline;
    const ready: number[] = [];
    for (let s = 0; s < steps.length; s++) {
      const { after } = steps[s];
      if (open[s] !== TO_COME || after.some((before) => open[before] !== 0)) continue;
      if (after.length > 0 && after.every((before) => counts[before] === 0)) counts[s] = 0;
      open[s] = counts[s];
      this.addWork(flow, fastest(steps[s]), counts[s] - steps[s].mean);
      if (counts[s] > 0) ready.push(s);
    }
    if (ready.length > 0) this.measure(flow, nowNs);
    else if (open.every((left) => left === 0)) {
      const { arrivalNs, sloNs } = this.host.requests;
      const isLate = nowNs > arrivalNs[flow.slot] + sloNs[flow.slot];
      this.end(flow, isLate ? OUTCOME_LATE : OUTCOME_OK, nowNs);
    }
    const vain = ready.find((s) => !this.canBegin(flow, s, nowNs));
    if (vain === undefined) for (const s of ready) this.beginStep(flow, s, nowNs);
    else this.fail(flow, vain, flow.wasExecuted ? OUTCOME_TIMEOUT : OUTCOME_REJECTED, nowNs);
  }

  private canBegin(flow: Flow, s: number, nowNs: number): boolean {
    const { slot, pipeline } = flow;
    const { requests } = this.host;
    if (!this.serves(pipeline, s)) return false;
    if (!this.fits(flow, s, nowNs) && !(this.forgets(flow, nowNs) && this.fits(flow, s, nowNs))) {
      const waitedNs = nowNs - requests.arrivalNs[slot];
      requests.predictedNs[slot] = waitedNs + this.ownLeastNs[s] + this.restLeastNs[s];
      return false;
    }
    return this.deadlineNs(flow, s, nowNs) > nowNs;
  }

  private beginStep(flow: Flow, s: number, nowNs: number): void {
    const { host } = this;
    const { requests } = host;
    const { slot, pipeline, counts } = flow;
    const arrivalNs = flow.wasExecuted ? nowNs : requests.arrivalNs[slot];
    const sloNs = this.deadlineNs(flow, s, nowNs) - arrivalNs;
    const step = pipeline.steps[s];
    let accuracy = 0;
    for (let i = 0; i < counts[s]; i++) {
      const { user, requestClass, tenant } = requests;
      const sender = [user[slot], requestClass[slot], tenant[slot]] as const;
      const variant =
        step.variants &&
        this.choose(step.variants, pipeline.firstStep + s, i, arrivalNs + sloNs - nowNs, nowNs);
      const own = host.offer(variant?.model ?? step.model, arrivalNs, sloNs, ...sender);
      if (variant !== undefined) {
        requests.accuracy[own] = variant.accuracy;
        accuracy += variant.accuracy / counts[s];
        this.addWork(flow, variant.model, 1);
        this.addWork(flow, fastest(step), -1);
      }
      requests.step[own] = pipeline.firstStep + s;
      requests.parent[own] = requests.id[slot];
      this.flows[own] = flow;
      flow.slots.add(own);
      host.begun(slot, s, i, own);
    }
    if (accuracy > 0) flow.accuracy = (flow.accuracy || 1) * accuracy;
  }

  /**
   * Most accurate variant expected to end within `leftNs`, behind its queue, `further` more requests and the GPU time of
   * all pipelines' requests, if requests keep arriving at the recent rate; otherwise the one expected to end first.
   * `step`: number among the steps of all pipelines.
   */
  private choose(
    variants: readonly Variant[],
    step: number,
    further: number,
    leftNs: number,
    nowNs: number,
  ): Variant {
    const recent = this.recent[step];
    recent.count = recent.count * Math.exp((recent.atNs - nowNs) / leftNs) + 1;
    recent.atNs = nowNs;
    const { up } = this.host.cluster;
    const waitNs = this.waitNs();
    let best = variants[variants.length - 1];
    let leastNs = Number.POSITIVE_INFINITY;
    for (const variant of variants) {
      const { model } = variant;
      if (!this.host.isServing(model)) continue;
      const latencyNs = Math.max(this.predictedNs(model, further, nowNs), waitNs + this.shortestNs(model));
      const othersNs = (recent.count * this.cheapestNs(model)) / Math.max(1, up.count);
      if (latencyNs + othersNs <= leftNs) return variant;
      if (latencyNs < leastNs) [best, leastNs] = [variant, latencyNs];
    }
    return best;
  }

  /** True if the step's model is still in its slot. */
  private serves({ steps, tenancies }: Pipeline, s: number): boolean {
    const { host } = this;
    return variantsOf(steps[s]).some(
      ({ model }, v) => host.isServing(model) && host.tenancy(model) === tenancies[s][v],
    );
  }

  /** True if a step and its successors can end in time. A pipeline of one step is judged like any request. */
  private fits({ slot, pipeline, wasExecuted }: Flow, s: number, nowNs: number): boolean {
    const { arrivalNs, sloNs } = this.host.requests;
    const restNs = this.restLeastNs[s];
    if (restNs === 0 && !wasExecuted) return true;
    return nowNs + this.shortestOf(pipeline.steps[s]) + restNs <= arrivalNs[slot] + sloNs[slot];
  }

  /**
   * True if admission predicts that the requests before it will keep the GPUs busy until its deadline, by recent GPU
   * times. Requests of a pipeline with a longer SLO count as far as their deadlines are earlier.
   */
  private isOverloaded({ slot, pipeline }: Flow, nowNs: number): boolean {
    const { requests, predicts } = this.host;
    const sloNs = requests.sloNs[slot];
    pipeline.sloNs = sloNs;
    const { steps } = pipeline;
    if (!predicts || (steps.length === 1 && steps[0].variants === undefined)) return false;
    const waitNs = nowNs - requests.arrivalNs[slot] + this.waitNs(sloNs);
    requests.predictedNs[slot] = waitNs;
    return waitNs > sloNs;
  }

  /** Time for which requests of pipelines keep the GPUs busy; for longer SLOs, the part within this one. */
  private waitNs(sloNs = Number.POSITIVE_INFINITY): number {
    // Skips indices without a pipeline, as servers may have.
    const workNs = this.pipelines.reduce(
      (sum, each) => sum + each.workNs * Math.min(1, sloNs / Math.max(1, each.sloNs)),
      0,
    );
    return Math.ceil(workNs / Math.max(1, this.host.cluster.up.count));
  }

  /** GPU time of a request; in full batches until INFERs of the model were seen. */
  private costNs(model: number): number {
    return this.costs[model] ?? this.cheapestNs(model);
  }

  /** GPU time of a request in full batches. */
  private cheapestNs(model: number): number {
    const { cluster } = this.host;
    const { batchSizes } = cluster.models[model];
    let leastNs = Number.POSITIVE_INFINITY;
    for (let b = 0; b < batchSizes.length; b++)
      leastNs = Math.min(leastNs, cluster.nominalExecNs(model, b) / batchSizes[b]);
    return leastNs;
  }

  /** Adds a number of requests for a model to the work of a flow. */
  private addWork(flow: Flow, model: number, count: number): void {
    // Whole numbers add up exactly.
    const ns = Math.round(count * this.costNs(model));
    flow.workNs += ns;
    flow.pipeline.workNs += ns;
  }

  /** Forgets outdated measurements, as admission does, and measures again if there were any. */
  private forgets(flow: Flow, nowNs: number): boolean {
    let forgot = false;
    for (const { model } of flow.pipeline.steps.flatMap(variantsOf))
      forgot = this.host.cluster.forgetMeasurements(model, nowNs) || forgot;
    if (forgot) this.measure(flow, nowNs);
    return forgot;
  }

  /** Ends a pipeline's request after a step cannot end in time, or its request in `slot` failed. */
  private fail(flow: Flow, s: number, outcome: Outcome, nowNs: number, slot = -1): void {
    const { requests } = this.host;
    const own = flow.slot;
    let ending = outcome;
    if (slot >= 0) {
      requests.limit[own] = requests.limit[slot];
      requests.failedInfer[own] = requests.failedInfer[slot];
      requests.failedStatus[own] = requests.failedStatus[slot];
      requests.predictedNs[own] = requests.predictedNs[slot];
      if (outcome === OUTCOME_REJECTED && flow.wasExecuted && requests.limit[own] === LIMIT_NONE)
        ending = OUTCOME_TIMEOUT;
    }
    // A refusal between steps means that it would be late.
    if (ending === OUTCOME_TIMEOUT && (slot < 0 || outcome === OUTCOME_REJECTED))
      requests.limit[own] = LIMIT_PIPELINE;
    requests.step[own] = -(flow.pipeline.firstStep + s);
    this.end(flow, ending, nowNs);
  }

  private end(flow: Flow, outcome: Outcome, nowNs: number): void {
    const { host, flows } = this;
    const { requests } = host;
    flow.hasEnded = true;
    flow.pipeline.workNs -= flow.workNs;
    for (const slot of flow.slots) host.cancel(slot);
    flows[flow.slot] = undefined;
    requests.accuracy[flow.slot] = flow.accuracy;
    host.ended(flow.slot, outcome, nowNs);
    requests.accuracy[flow.slot] = 0;
    requests.step[flow.slot] = 0;
    requests.limit[flow.slot] = LIMIT_NONE;
  }

  private deadlineNs({ slot, pipeline }: Flow, s: number, nowNs: number): number {
    const { arrivalNs, sloNs } = this.host.requests;
    const endNs = arrivalNs[slot] + sloNs[slot];
    pipeline.shares ??= sharesOf(pipeline, this.host.cluster.models);
    if (pipeline.shares !== null) return arrivalNs[slot] + Math.floor(sloNs[slot] * pipeline.shares[s]);
    const [ownNs, restNs] = [this.ownNs[s], this.restNs[s]];
    // Nothing is known while no GPU is in service.
    if (restNs === 0 || ownNs + restNs === Number.POSITIVE_INFINITY) return endNs;
    if (nowNs + ownNs + restNs <= endNs) return endNs - Math.ceil(restNs);
    // Excludes LOADs, which only begun requests can cause.
    const [ownLeastNs, restLeastNs] = [this.ownLeastNs[s], this.restLeastNs[s]];
    return nowNs + Math.floor(((endNs - nowNs) * ownLeastNs) / (ownLeastNs + restLeastNs));
  }

  /** Measures the needs of a flow's remaining steps. */
  private measure(flow: Flow, nowNs: number): void {
    const { host, ownNs, restNs, ownLeastNs, restLeastNs } = this;
    const { steps, next } = flow.pipeline;
    // Policies load only models with waiting requests: requests refused because of a LOAD would never cause it.
    const isHeld = ({ model }: { model: number }) => host.cluster.held.count(model) > 0;
    const isCold = steps.some((step) => !variantsOf(step).some(isHeld));
    for (let s = steps.length - 1; s >= 0; s--) {
      const { mean, least } = steps[s];
      const isToCome = flow.open[s] === TO_COME;
      const count = isToCome ? mean : flow.counts[s];
      restNs[s] = restLeastNs[s] = 0;
      for (const t of next[s]) {
        restNs[s] = Math.max(restNs[s], ownNs[t] + restNs[t]);
        restLeastNs[s] = Math.max(restLeastNs[s], ownLeastNs[t] + restLeastNs[t]);
      }
      const latencies = variantsOf(steps[s]).map(({ model }) => this.predictedNs(model, count - 1, nowNs));
      ownNs[s] = Math.min(1, count) * Math.min(...latencies);
      const mayBeSkipped = isToCome && least === 0;
      if (!mayBeSkipped && !this.serves(flow.pipeline, s)) ownLeastNs[s] = Number.POSITIVE_INFINITY;
      else if (host.predicts && !isCold) ownLeastNs[s] = ownNs[s];
      else ownLeastNs[s] = mayBeSkipped ? 0 : this.shortestOf(steps[s]);
    }
  }

  /** Expected latency of the last of `further` + 1 requests that arrive now. */
  private predictedNs(model: number, further: number, nowNs: number): number {
    const { host } = this;
    const queued = host.queued(model) + Math.max(0, Math.ceil(further));
    return predictLatencyNs(host.cluster, model, queued, nowNs, this.bucket(model));
  }

  private shortestOf(step: PipelineStep): number {
    const { cluster } = this.host;
    return Math.min(...variantsOf(step).map(({ model }) => cluster.leastExecNs(model, this.bucket(model))));
  }

  private shortestNs(model: number): number {
    return this.host.cluster.shortestExecNs(model, this.bucket(model));
  }

  /** Steps have inputs of unknown length. */
  private bucket(model: number): number {
    const { rows, models } = this.host.cluster;
    return rows.known(model, bucketOf(models[model], 0));
  }
}

/** Models that may serve a step, the most accurate first. */
export function variantsOf(step: PipelineStep): readonly { readonly model: number }[] {
  return step.variants ?? [step];
}

/** The least accurate variant, assumed for later steps. */
function fastest(step: PipelineStep): number {
  const variants = variantsOf(step);
  return variants[variants.length - 1].model;
}

/** By step: weight of the longest path to its end, as a part of the longest path through it; null for `slack`. */
function sharesOf({ steps, split, next }: Pipeline, models: readonly ModelSpec[]): number[] | null {
  if (split === 'slack') return null;
  const weights = steps.map(({ model, budget }) =>
    split === 'fixed' ? budget : split === 'equal' ? 1 : shortestExecNs(models[model]),
  );
  const to: number[] = [];
  for (const [s, { after }] of steps.entries())
    to.push(weights[s] + Math.max(0, ...after.map((before) => to[before])));
  const from = new Float64Array(steps.length);
  for (let s = steps.length - 1; s >= 0; s--)
    from[s] = Math.max(0, ...next[s].map((t) => weights[t] + from[t]));
  return to.map((weight, s) => weight / (weight + from[s]));
}
