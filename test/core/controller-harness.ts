import type { Action, ActionKind } from '../../src/core/action.js';
import type { Admission } from '../../src/core/admission.js';
import { Controller } from '../../src/core/controller.js';
import type { RunObserver } from '../../src/core/observer.js';
import { type Dispatcher, type Policy, type PolicyContext, REFUSE } from '../../src/core/policy.js';
import type { Outcome } from '../../src/core/request.js';
import type { MissedWindow } from '../../src/core/retry.js';
import { models } from './fixtures.js';

/** A policy that does what a test tells it. */
export class ScriptedPolicy implements Policy {
  readonly name = 'scripted';
  /** Slots that wait, in order of arrival. */
  readonly waiting: number[] = [];
  readonly timeouts: number[] = [];
  readonly calls: string[] = [];
  /** What to do with the next arrivals; `refuse` and `dueAfterNs` when there is no plan. */
  readonly plans: { readonly refuse: boolean; readonly dueAfterNs: number }[] = [];
  refuse = false;
  dueAfterNs = Number.POSITIVE_INFINITY;
  onSchedule: (nowNs: number, dispatch: Dispatcher) => void = () => {};

  readonly dispatch: Dispatcher;

  constructor({ dispatch }: PolicyContext) {
    this.dispatch = dispatch;
  }

  admit(slot: number, nowNs: number): number {
    this.calls.push('admit');
    const { refuse, dueAfterNs } = this.plans.shift() ?? this;
    if (refuse) return REFUSE;
    this.waiting.push(slot);
    return nowNs + dueAfterNs;
  }

  timedOut(slot: number): void {
    this.timeouts.push(slot);
    this.waiting.splice(this.waiting.indexOf(slot), 1);
  }

  finished(): void {
    this.calls.push('finished');
  }

  schedule(nowNs: number): void {
    this.calls.push('schedule');
    this.onSchedule(nowNs, this.dispatch);
  }

  weightsLost(gpu: number, model: number): void {
    this.calls.push(`lost ${model} on ${gpu}`);
  }

  weightsFound(gpu: number, model: number): void {
    this.calls.push(`found ${model} on ${gpu}`);
  }

  lanesChanged(gpu: number): void {
    this.calls.push(`lanes of ${gpu}`);
  }

  nextWakeNs(): number {
    return Number.POSITIVE_INFINITY;
  }

  queued(): number {
    return this.waiting.length;
  }
}

/** A controller of 2 GPUs with 6 pages and 4 models of 2 pages, whose workers and policy are the test. */
export class ControllerHarness {
  readonly controller: Controller;
  policy!: ScriptedPolicy;
  /** Actions without a result, in order. */
  readonly sent: Action[] = [];
  readonly answers: { id: number; outcome: Outcome; nowNs: number }[] = [];
  readonly seen: { readonly kind: ActionKind | 'answer'; readonly action: object | null }[] = [];

  /** `observer`: sees the run as well. */
  constructor(admission: Admission = 'none', observer?: RunObserver, missedWindow?: MissedWindow) {
    this.controller = new Controller({
      ...(missedWindow === undefined ? {} : { missedWindow }),
      admission,
      cluster: { models: models(4), gpus: 2, pages: 6 },
      defaultSloNs: 100_000_000,
      createPolicy: (context) => {
        this.policy = new ScriptedPolicy(context);
        return this.policy;
      },
      port: {
        send: (action) => this.sent.push(action),
        answer: (slot, outcome, nowNs) =>
          this.answers.push({ id: this.controller.requests.id[slot], outcome, nowNs }),
      },
      observer: {
        answered: (...given) => {
          observer?.answered(...given);
          this.seen.push({ kind: 'answer', action: given[5] });
        },
        completed: (...given) => {
          observer?.completed(...given);
          this.seen.push({ kind: given[0].kind, action: { ...given[0] } });
        },
      },
    });
  }

  /** The first outstanding action ends. */
  finish(status: number, beginNs: number, endNs: number): void {
    const action = this.sent.shift() as Action;
    Object.assign(action, { status, beginNs, endNs, clock: 1 });
    this.controller.result(action);
  }

  /** Sends the waiting requests of model 0 to GPU 0 as one batch. */
  inferAll(nowNs: number): void {
    const slots = this.policy.waiting.splice(0);
    if (slots.length === 0) return;
    const batchIndex = slots.length === 1 ? 0 : slots.length === 2 ? 1 : 2;
    this.policy.dispatch.infer({
      gpu: 0,
      model: 0,
      batchIndex,
      slots: Int32Array.from(slots),
      count: slots.length,
      earliestNs: nowNs,
      latestNs: nowNs + 1e9,
      nowNs,
    });
  }

  /** Some legal decision of the kind, chosen by `pick`, if there is one. */
  decide(kind: string, pick: number, nowNs: number): void {
    const { cluster, requests } = this.controller;
    const { waiting } = this.policy;
    const gpu = pick % 2;
    const model = (pick >> 1) % 4;
    if (kind === 'load' && !cluster.held.has(model, gpu) && cluster.pages[gpu].free >= 2) {
      this.policy.dispatch.load(gpu, model, nowNs, nowNs, nowNs);
    } else if (kind === 'unload' && cluster.warm.has(model, gpu))
      this.policy.dispatch.unload(gpu, model, nowNs);
    else if (kind === 'infer') {
      const at = waiting.findIndex((slot) => cluster.warm.has(requests.model[slot], gpu));
      if (at < 0) return;
      const [slot] = waiting.splice(at, 1);
      this.policy.dispatch.infer({
        gpu,
        model: requests.model[slot],
        batchIndex: 0,
        slots: Int32Array.of(slot),
        count: 1,
        earliestNs: nowNs,
        latestNs: nowNs,
        nowNs,
      });
    }
  }
}
