import { ACTION_NAMES, type Action, STATUS_OK, STATUS_WORKER_LOST } from '../../src/core/action.js';
import type { Admission } from '../../src/core/admission.js';
import type { RequestClass } from '../../src/core/classes.js';
import type { ClusterSpec } from '../../src/core/cluster-spec.js';
import { Controller } from '../../src/core/controller.js';
import type { ModelSpec } from '../../src/core/model.js';
import { OUTCOME_NAMES } from '../../src/core/request.js';
import type { PolicyOptions } from '../../src/policies/entry.js';
import { POLICIES } from '../../src/policies/registry.js';

export const MS = 1_000_000;

export interface HarnessOptions {
  readonly policy: string;
  readonly options: PolicyOptions;
  readonly models: readonly ModelSpec[];
  readonly gpus?: number;
  readonly spareGpus?: number;
  readonly pages?: number;
  readonly sloNs?: number;
  readonly oneLane?: boolean;
  readonly admission?: Admission;
  readonly classes?: readonly RequestClass[];
  readonly kinds?: ClusterSpec['kinds'];
}

/** A controller with a real policy, whose workers and clock are the test. All times in ms. */
export class PolicyHarness {
  readonly controller: Controller;
  /** Every action that was sent, e.g. 'INFER model 0 batch 2 on GPU 1'. */
  readonly log: string[] = [];
  /** Actions without a result, in order. */
  readonly outstanding: Action[] = [];
  /** Answers as 'request 0 ok at 12'. */
  readonly answers: string[] = [];
  private readonly sloMs: number;

  constructor({
    policy,
    options,
    models,
    gpus = 1,
    spareGpus = 0,
    pages = 100,
    sloNs = 100 * MS,
    oneLane = false,
    admission = 'none',
    classes,
    kinds,
  }: HarnessOptions) {
    const entry = POLICIES.find(({ kind }) => kind === policy);
    if (entry === undefined) throw new Error(`no policy ${policy}`);
    this.sloMs = sloNs / MS;
    this.controller = new Controller({
      cluster: { models, gpus, spareGpus, pages, oneLane, ...(kinds === undefined ? {} : { kinds }) },
      admission,
      defaultSloNs: sloNs,
      ...(classes === undefined ? {} : { classes }),
      createPolicy: (context) => entry.create(context, options),
      port: {
        send: (action) => {
          this.log.push(describeAction(action));
          this.outstanding.push(action);
        },
        answer: (slot, outcome, nowNs) => {
          const id = this.controller.requests.id[slot];
          this.answers.push(`request ${id} ${OUTCOME_NAMES[outcome]} at ${nowNs / MS}`);
        },
      },
    });
  }

  /** Requests for the models arrive. Call `step` afterwards. */
  offer(nowMs: number, models: readonly number[], sloMs = this.sloMs, requestClass = 0): void {
    for (const model of models) this.controller.offer(model, nowMs * MS, sloMs * MS, 0, requestClass);
  }

  /** Returns the actions that were sent. */
  step(nowMs: number): string[] {
    this.log.length = 0;
    this.controller.step(nowMs * MS);
    return [...this.log];
  }

  arrive(nowMs: number, models: readonly number[], sloMs = this.sloMs): string[] {
    this.offer(nowMs, models, sloMs);
    return this.step(nowMs);
  }

  /** The oldest action that matches ends now, having taken as long as expected. Returns what was sent. */
  end(nowMs: number, match = '', status = STATUS_OK): string[] {
    this.finish(nowMs, match, status);
    return this.step(nowMs);
  }

  /** Like `end`, without a step: several results can come together. */
  finish(nowMs: number, match = '', status = STATUS_OK): void {
    const at = this.outstanding.findIndex((action) => describeAction(action).includes(match));
    if (at < 0) throw new Error(`nothing outstanding matches '${match}'`);
    this.conclude(this.outstanding[at] as Action, nowMs, status);
  }

  private conclude(action: Action, nowMs: number, status: number): void {
    this.outstanding.splice(this.outstanding.indexOf(action), 1);
    const endNs = nowMs * MS;
    Object.assign(action, { status, beginNs: endNs - action.expectedDurationNs, endNs, clock: 1 });
    this.controller.result(action);
  }

  /** The GPU is lost, and what it was sent with it. Call `step` afterwards. */
  lose(gpu: number, nowMs: number): void {
    for (const action of this.outstanding.filter((sent) => sent.gpu === gpu)) {
      this.outstanding.splice(this.outstanding.indexOf(action), 1);
      Object.assign(action, { status: STATUS_WORKER_LOST, beginNs: nowMs * MS, endNs: nowMs * MS, clock: 1 });
      this.controller.result(action);
    }
    this.controller.gpuDown(gpu);
  }

  /** Lets time pass: every action ends, successfully, when it is expected to. */
  settle(fromMs: number, toMs: number): void {
    for (let nowMs = fromMs; nowMs <= toMs; nowMs++) {
      this.step(nowMs);
      for (;;) {
        const due = this.outstanding.find(({ expectedEndNs }) => expectedEndNs <= nowMs * MS);
        if (due === undefined) break;
        this.conclude(due, nowMs, STATUS_OK);
        this.step(nowMs);
      }
    }
  }

  /** Window and expected end of the last action that was sent, in ms. */
  get lastPlan(): { earliest: number; latest: number; expectedEnd: number } {
    const action = this.outstanding.at(-1) as Action;
    return {
      earliest: action.earliestNs / MS,
      latest: action.latestNs / MS,
      expectedEnd: action.expectedEndNs / MS,
    };
  }
}

function describeAction(action: Action): string {
  const batch = ACTION_NAMES[action.kind] === 'INFER' ? ` batch ${action.batchSize}` : '';
  return `${ACTION_NAMES[action.kind]} model ${action.model}${batch} on GPU ${action.gpu}`;
}
