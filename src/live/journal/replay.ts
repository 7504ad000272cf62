import { EscapementError } from '../../base/errors.js';
import type { Action } from '../../core/action.js';
import { Controller } from '../../core/controller.js';
import type { ModelSpec } from '../../core/model.js';
import type { RunObserver } from '../../core/observer.js';
import { type PipelineSpec, variantsOf } from '../../core/pipelines.js';
import type { Policy, PolicyContext } from '../../core/policy.js';
import { REQUEST_FREE } from '../../core/request.js';
import type { JournalHeader } from './journal-header.js';
import { type JournalText, type JournalVisitor, readJournal } from './journal-reader.js';

/** Sees a controller's decisions, in addition to observers. Must not change or keep its arguments. */
export interface ReplayWatcher {
  started(header: JournalHeader, controller: Controller): void;
  /** The policy is about to get the request, or to take it back after its worker was lost. */
  admitting?(slot: number, nowNs: number): void;
  sent?(action: Action, nowNs: number): void;
  /** A pipeline came; `first`: the number of its first step in the request table. */
  pipelineCame?(first: number, spec: PipelineSpec): void;
  /** Trace of a request, given by its sequence number. */
  traced?(request: number, traceparent: string): void;
}

export interface ReplayOptions {
  readonly createPolicy: (header: JournalHeader, context: PolicyContext) => Policy;
  readonly observer?: RunObserver;
  readonly watchers?: readonly ReplayWatcher[];
  /** Text of the journal, if it is not in a file. */
  readonly text?: JournalText;
}

export interface Replay {
  readonly digest: string;
  /** Digest of the recorded run; null if the journal was cut off. */
  readonly recordedDigest: string | null;
  readonly steps: number;
  /** Number of distinct names of its initial models and those added later. */
  readonly models: number;
  readonly requests: number;
  /** Requests unanswered at the end of the journal. */
  readonly unanswered: number;
  /** Time of the last step, ns since the start of the run. */
  readonly endNs: number;
  /** True if the journal was cut off: its process was killed, or is still running. */
  readonly truncated: boolean;
}

/**
 * Re-runs offline the controller that wrote a journal: the same input at the same times, so the same decisions and the
 * same digest. Throws the errors of `readJournal`, and `E_REPLAY_DIFFERS` if a recorded result belongs to no action of
 * the replay.
 */
export async function replayJournal(path: string, options: ReplayOptions): Promise<Replay> {
  let player: Player | null = null;
  const open = (header: JournalHeader) => {
    player = new Player(header, options);
    return player;
  };
  const recordedDigest = await readJournal(path, open, options.text);
  // The reader throws for a journal without a header.
  const { controller, steps, models, requests, nowNs } = player as unknown as Player;
  const truncated = recordedDigest === null;
  const unanswered = controller.requests.size;
  return {
    digest: controller.digest,
    recordedDigest,
    steps,
    models: models.size,
    requests,
    unanswered,
    endNs: nowNs,
    truncated,
  };
}

class Player implements JournalVisitor {
  readonly controller: Controller;
  steps = 0;
  requests = 0;
  /** Slot of the latest request. */
  private offered = 0;
  nowNs = 0;
  readonly models = new Set<string>();
  private readonly pipelines: PipelineSpec[] = [];
  /** Actions without a result, by id. */
  private readonly outstanding = new Map<number, Action>();

  constructor(
    private readonly header: JournalHeader,
    private readonly options: ReplayOptions,
  ) {
    const { createPolicy, observer, watchers = [] } = options;
    const { models, spareModels, spareBatch, gpus, spareGpus, pages, kinds, oneLane } = header;
    const { defaultSloNs, admission, missedWindow, classes, tenants, padding = 'batch' } = header;
    const ofKinds = kinds === undefined ? {} : { kinds };
    for (const { name } of models) this.models.add(name);
    this.controller = new Controller({
      cluster: { models, spareModels, spareBatch, gpus, spareGpus, pages, oneLane, padding, ...ofKinds },
      defaultSloNs,
      admission,
      missedWindow,
      ...(classes === undefined ? {} : { classes }),
      ...(tenants === undefined ? {} : { tenants }),
      createPolicy: (context) => {
        const policy = createPolicy(header, context);
        return watched(policy, watchers);
      },
      port: {
        send: (action, nowNs) => {
          this.outstanding.set(action.id, action);
          for (const watcher of watchers) watcher.sent?.(action, nowNs);
        },
        answer: () => {},
      },
      ...(observer === undefined ? {} : { observer }),
    });
    for (const watcher of watchers) watcher.started(header, this.controller);
  }

  offer(
    model: number,
    arrivalNs: number,
    sloNs: number,
    user: number,
    requestClass: number,
    tenant: number,
    length: number,
  ): void {
    this.requests++;
    within(requestClass, this.controller.classes.length, 'class');
    within(tenant, Math.max(1, this.header.tenants?.length ?? 0), 'tenant');
    this.offered = this.controller.offer(
      ...([this.modelIndex(model), arrivalNs, sloNs, user, requestClass, tenant, length] as const),
    );
  }

  offerPipeline(
    pipeline: number,
    arrivalNs: number,
    sloNs: number,
    user: number,
    requestClass: number,
    tenant: number,
    counts: Int32Array,
  ): void {
    this.requests++;
    within(requestClass, this.controller.classes.length, 'class');
    within(tenant, Math.max(1, this.header.tenants?.length ?? 0), 'tenant');
    if (counts.length !== this.pipelines[pipeline]?.steps.length)
      throw new EscapementError('E_JOURNAL', `is malformed: pipeline ${pipeline} has no such steps`);
    const sender = [user, requestClass, tenant] as const;
    this.offered = this.controller.offerPipeline(pipeline, arrivalNs, sloNs, ...sender, counts);
  }

  setCount(slot: number, step: number, count: number): void {
    this.controller.setCount(slot, step, count);
  }

  putPipeline(index: number, spec: PipelineSpec): void {
    for (const { model } of spec.steps.flatMap(variantsOf)) this.modelIndex(model);
    this.pipelines[index] = spec;
    const first = this.controller.putPipeline(index, spec);
    for (const watcher of this.options.watchers ?? []) watcher.pipelineCame?.(first, spec);
  }

  trace(traceparent: string): void {
    const request = this.controller.requests.id[this.offered];
    for (const watcher of this.options.watchers ?? []) watcher.traced?.(request, traceparent);
  }

  cancel(slot: number): void {
    const { requests } = this.controller;
    if (slot >= requests.state.length || requests.state[slot] === REQUEST_FREE)
      throw new EscapementError('E_JOURNAL', `is malformed: no request waits in slot ${slot}`);
    this.controller.cancel(slot);
  }

  result(id: number, status: number, beginNs: number, endNs: number, clock: number): void {
    const action = this.outstanding.get(id);
    if (action === undefined) {
      const what = `a result of action ${id}, which was not sent: the journal is damaged, or another version of escapement, which decides differently, wrote it`;
      throw new EscapementError('E_REPLAY_DIFFERS', what);
    }
    // The controller reuses the object.
    this.outstanding.delete(id);
    action.status = status;
    action.beginNs = beginNs;
    action.endNs = endNs;
    action.clock = clock;
    this.controller.result(action);
  }

  gpuDown(gpu: number): void {
    this.controller.gpuDown(this.gpuIndex(gpu));
  }

  gpuUp(gpu: number, models: readonly number[], kind: number): void {
    const { cluster } = this.controller;
    for (const model of models) within(model, cluster.models.length, 'model');
    this.controller.gpuUp(this.gpuIndex(gpu), models, within(kind, cluster.kinds, 'kind'));
  }

  putModel(model: number, spec: ModelSpec): void {
    const { cluster } = this.controller;
    const isEmpty = model < cluster.models.length && !cluster.hasModel(model);
    if (!isEmpty)
      throw new EscapementError('E_JOURNAL', `is malformed: model ${model} comes to a slot in use`);
    this.controller.putModel(model, spec);
    this.models.add(spec.name);
  }

  setAbsent(model: number, gpus: readonly number[]): void {
    within(model, this.controller.cluster.models.length, 'model');
    this.controller.setAbsent(
      model,
      gpus.map((gpu) => this.gpuIndex(gpu)),
    );
  }

  grow(slots: number): void {
    const { length } = this.controller.cluster.models;
    if (slots <= length)
      throw new EscapementError('E_JOURNAL', `is malformed: ${length} slots grow to ${slots}`);
    this.controller.grow(slots);
  }

  retireModel(model: number): void {
    this.controller.retireModel(this.modelIndex(model));
  }

  step(nowNs: number): void {
    if (nowNs < this.nowNs) {
      throw new EscapementError(
        'E_JOURNAL',
        `is malformed: time runs back from ${this.nowNs} to ${nowNs} ns`,
      );
    }
    this.nowNs = nowNs;
    this.steps++;
    this.controller.step(nowNs);
  }

  private modelIndex(model: number): number {
    if (this.controller.isServing(model)) return model;
    throw new EscapementError('E_JOURNAL', `is malformed: model ${model} takes no requests`);
  }

  private gpuIndex(gpu: number): number {
    return within(gpu, this.controller.cluster.gpus, 'GPU');
  }
}

function watched(policy: Policy, watchers: readonly ReplayWatcher[]): Policy {
  if (watchers.length === 0) return policy;
  const admit = policy.admit.bind(policy);
  policy.admit = (slot, nowNs) => {
    for (const watcher of watchers) watcher.admitting?.(slot, nowNs);
    return admit(slot, nowNs);
  };
  return policy;
}

function within(index: number, count: number, what: string): number {
  if (index < count) return index;
  throw new EscapementError('E_JOURNAL', `is malformed: ${what} ${index} of ${count}`);
}
