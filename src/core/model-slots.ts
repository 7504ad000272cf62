import { grown } from '../base/grown.js';
import { invariant } from '../base/invariant.js';
import type { Cluster } from './cluster.js';
import type { Digest } from './digest.js';
import { type ModelSpec, NO_MODEL } from './model.js';
import type { Orders } from './orders.js';
import type { Policy } from './policy.js';

/** States of a slot: empty; its model takes requests; its model is retiring. */
const EMPTY = 0;
const SERVING = 1;
const RETIRING = 2;

/** Adds and removes models while a controller runs, and tracks how far retiring ones are. */
export class ModelSlots {
  private state: Uint8Array;
  /** By model: requests without an answer. */
  private open: Int32Array;
  /** By slot: number of models that it has had. */
  private tenancies: Int32Array;
  /** Models to add in the next step, and those retiring, in call order. */
  private readonly coming: { readonly model: number; readonly spec: ModelSpec }[] = [];
  private readonly leaving: number[] = [];
  /** GPUs whose workers do not have a model, by model, to apply in the next step. */
  private readonly absent: { readonly model: number; readonly gpus: readonly number[] }[] = [];
  /** Retiring models not yet reported to the policy. */
  private readonly retired: number[] = [];

  constructor(private readonly cluster: Cluster) {
    this.state = Uint8Array.from(cluster.models, (spec) => (spec === NO_MODEL ? EMPTY : SERVING));
    this.open = new Int32Array(cluster.models.length);
    this.tenancies = new Int32Array(cluster.models.length);
  }

  /** True if requests for the model may be offered. */
  isServing(model: number): boolean {
    return this.state[model] === SERVING;
  }

  /** Number of models that the slot has had. */
  tenancy(model: number): number {
    return this.tenancies[model];
  }

  /** First empty slot, or −1. */
  get firstEmpty(): number {
    return this.state.indexOf(EMPTY);
  }

  /** Call when the cluster has more slots, and this policy. */
  grow(policy: Policy, nowNs: number): void {
    for (const model of this.leaving) policy.modelRetires?.(model, nowNs);
    this.retired.length = 0;
    this.state = grown(this.state, this.cluster.models.length);
    this.open = grown(this.open, this.cluster.models.length);
    this.tenancies = grown(this.tenancies, this.cluster.models.length);
  }

  /** Throws `E_PROFILE` or `E_MODEL_TOO_LARGE` for a model that the cluster can't have. */
  put(model: number, spec: ModelSpec): void {
    invariant(this.state[model] === EMPTY, 'a model is put into an empty slot');
    this.cluster.checkNew(spec);
    this.state[model] = SERVING;
    this.tenancies[model]++;
    this.coming.push({ model, spec });
  }

  /** Replaces the GPUs whose workers do not have the model. */
  setAbsent(model: number, gpus: readonly number[]): void {
    this.absent.push({ model, gpus });
  }

  retire(model: number): void {
    invariant(this.state[model] === SERVING, 'a model is retired once');
    this.state[model] = RETIRING;
    this.leaving.push(model);
    this.retired.push(model);
  }

  arrived(model: number, sloNs: number): void {
    invariant(this.state[model] === SERVING, 'requests are for models that are there');
    this.open[model]++;
    this.cluster.offered(model, sloNs);
  }

  answered(model: number): void {
    this.open[model]--;
  }

  /**
   * Puts new models into their slots, and reports retiring ones to the policy. Returns true if models are on other
   * workers than before.
   */
  bring(policy: Policy, decisions: Digest, nowNs: number): boolean {
    for (const { model, spec } of this.coming) {
      decisions.add(model);
      this.cluster.putModel(model, spec);
      policy.modelCame?.(model, nowNs);
    }
    this.coming.length = 0;
    for (const model of this.retired) policy.modelRetires?.(model, nowNs);
    this.retired.length = 0;
    const moved = this.absent.length > 0;
    for (const { model, gpus } of this.absent) {
      decisions.add(model);
      this.cluster.bars.setAbsent(model, gpus);
    }
    this.absent.length = 0;
    return moved;
  }

  /** Unloads retiring models without waiting requests, and empties the slots of those loaded nowhere. */
  clear(
    policy: Policy,
    orders: Orders,
    decisions: Digest,
    nowNs: number,
    gone: (model: number) => void,
  ): void {
    let left = 0;
    for (const model of this.leaving) {
      if (this.open[model] === 0 && this.isNowhere(model, policy, orders, nowNs)) {
        decisions.add(model);
        policy.modelGoes?.(model, nowNs);
        this.cluster.removeModel(model);
        this.state[model] = EMPTY;
        gone(model);
      } else this.leaving[left++] = model;
    }
    this.leaving.length = left;
  }

  /** Models that are retiring but not yet gone. */
  get retiring(): number {
    return this.leaving.length;
  }

  private isNowhere(model: number, policy: Policy, orders: Orders, nowNs: number): boolean {
    const { bars, warm, held } = this.cluster;
    bars.close(model);
    for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) {
      orders.unload(gpu, model, nowNs);
      policy.weightsLost(gpu, model, nowNs);
    }
    return held.count(model) === 0 && !orders.isPending(model);
  }
}
