import { INFER, LOAD, STATUS_DEVICE_ERROR, STATUS_OK, UNLOAD } from '../../../src/core/action.js';
import { ClockSync } from '../../../src/live/controller/link/clock-sync.js';
import type {
  DrivenMachine,
  Driving,
  LinkEvents,
  WorkerLink,
} from '../../../src/live/controller/link/worker-link.js';
import type {
  ActionMessage,
  GpuDescription,
  ModelChange,
  ResultMessage,
  WorkerDescription,
  WorkerState,
} from '../../../src/live/messages.js';
import type { ServedModel } from '../../../src/live/model.js';
import type { ModelReference } from '../../../src/live/model-list.js';
import { type ModelList, NO_MODELS } from '../../../src/live/model-list.js';
import type { MachineEvents } from '../../../src/live/worker/machine.js';
import { model as modelSpec } from '../../core/fixtures.js';
import { MS } from '../../sim/fixtures.js';

/** A model of 2 pages with two inputs and two outputs: `sum`, of the bytes of both, and `twice`, the first doubled. */
export function served(name = 'model', over: Partial<ServedModel> = {}): ServedModel {
  return {
    spec: modelSpec({ name, inputBytes: 5, outputBytes: 6 }),
    signature: {
      inputs: [
        { name: 'a', datatype: 'UINT8', shape: [3], bytes: 3 },
        { name: 'b', datatype: 'UINT8', shape: [2], bytes: 2 },
      ],
      outputs: [
        { name: 'sum', datatype: 'UINT8', shape: [], bytes: 1 },
        { name: 'twice', datatype: 'UINT8', shape: [3], bytes: 3 },
      ],
      batched: true,
    },
    version: '1',
    sloNs: null,
    ...over,
  };
}

export function gpu(over: Partial<GpuDescription> = {}): GpuDescription {
  return { name: 'fake', provider: 'cpu', pages: 6, oneLane: false, ...over };
}

/** Two models on one GPU that holds three. */
export function description(over: Partial<WorkerDescription> = {}): WorkerDescription {
  return { gpus: [gpu()], pageBytes: 10_000_000, models: [served('one'), served('two')], ...over };
}

/** What the models in `served` make of the inputs of `count` requests. */
export function compute(inputs: readonly Uint8Array[], count: number): Uint8Array<ArrayBuffer>[] {
  const [a, b] = [0, 1].map((input) =>
    Uint8Array.from(inputs.filter((_, i) => i % 2 === input).flatMap((x) => [...x])),
  );
  const sums = Uint8Array.from({ length: count }, (_, i) =>
    [...a.subarray(i * 3, i * 3 + 3), ...b.subarray(i * 2, i * 2 + 2)].reduce((sum, byte) => sum + byte, 0),
  );
  return [sums, a.map((byte) => byte * 2)];
}

/**
 * A machine and the link to it, played by the test. Unless configured otherwise it executes what it is sent, as long as
 * the profile says, and never at the same instant.
 */
export class FakeWorker implements WorkerLink, DrivenMachine {
  readonly sent: ActionMessage[] = [];
  closed = false;
  /** False: it keeps what it is sent, and the test answers. */
  executing = true;
  /** Models that it cannot load. */
  broken: readonly number[] = [];
  /** Models at whose INFERs it fails, and why. */
  failing: ReadonlyMap<number, string> = new Map();
  /** What it runs, by index; models that could be added; what was asked for. */
  models: (ServedModel | null)[];
  offers: readonly ServedModel[] = [];
  readonly changes: string[] = [];
  /** Names of models that it does not have. */
  readonly lacks = new Set<string>();
  /** What `addModel` waits for. */
  preparing: Promise<unknown> = Promise.resolve();
  /** Models by GPU. */
  present: Set<number>[] = [];
  readonly complain = () => {};
  private events: LinkEvents | null = null;
  private machineEvents: MachineEvents | null = null;
  private nowNs: () => number = () => 0;
  /** Counts the times that it was made idle: what was sent before is not answered. */
  private life = 0;
  /** Says that it is idle, when it is asked to be. */
  private idle: ((state: WorkerState) => void) | null = null;

  constructor(
    readonly name: string,
    public described: WorkerDescription = description(),
    /** Whether it introduces itself as soon as the controller calls. */
    private readonly answers = true,
  ) {
    this.models = [...described.models];
  }

  get description(): WorkerDescription {
    return this.described;
  }

  start(events: LinkEvents, nowNs: () => number): void {
    this.events = events;
    this.nowNs = nowNs;
    this.closed = false;
    if (this.answers) queueMicrotask(() => this.up());
  }

  attach(events: MachineEvents): void {
    this.machineEvents = events;
  }

  submit(actions: readonly ActionMessage[]): void {
    if (this.closed) throw new Error(`${this.name} was sent actions while it was closed`);
    this.sent.push(...actions);
    const { life } = this;
    for (const action of actions) {
      if (!this.executing) continue;
      setTimeout(() => {
        if (life === this.life) this.answer(action);
      }, this.durationNs(action) / MS);
    }
  }

  quiesce(): Promise<WorkerState> {
    this.life++;
    return new Promise((resolve) => {
      this.idle = resolve;
    });
  }

  async listModels(name: string | null): Promise<ModelList> {
    const offers = this.offers.filter(({ spec }) => name === null || spec.name === name);
    const versions = offers.map(({ spec, version, digest = '' }) => ({
      name: spec.name,
      version,
      digest,
      isMeasured: true,
    }));
    return { ...NO_MODELS, versions };
  }

  async addModel(index: number, { name, version }: ModelReference): Promise<ServedModel | null> {
    this.changes.push(`add ${name} ${version} at ${index}`);
    const model = this.offers.find((offer) => offer.spec.name === name && offer.version === version);
    await this.preparing;
    if (this.lacks.has(name)) return null;
    if (model === undefined) throw new Error(`there is no model ${name}`);
    this.models[index] = model;
    return model;
  }

  async dropModel(index: number): Promise<void> {
    this.changes.push(`drop ${index}`);
    this.models[index] = null;
  }

  async close(): Promise<void> {
    this.closed = true;
    this.life++;
  }

  /** Comes up with these weights on its GPUs. */
  async up(
    present: readonly (readonly number[])[] = this.described.gpus.map(() => []),
    changes: readonly ModelChange[] = [],
  ): Promise<void> {
    this.present = present.map((models) => new Set(models));
    if (this.closed) return;
    if (this.idle === null) {
      this.events?.lost('comes up again');
      this.events?.drives(this, new ClockSync());
    }
    this.idle?.({ present, changes });
    this.idle = null;
    await settled();
  }

  /** Another controller may drive it, or none; as a worker across a network says it. */
  driven(by: Driving, yields = false): void {
    this.events?.met(this.described);
    this.events?.driven(by, yields);
  }

  /** Is lost, or one of its GPUs is. */
  async down(reason = 'was killed', only: number | null = null): Promise<void> {
    if (only === null) {
      this.life++;
      this.idle = null;
      if (!this.closed) this.events?.lost(reason);
    } else this.machineEvents?.gpuDown(only, reason);
    await settled();
  }

  /** The result of an action as the device would give it. */
  answer(action: ActionMessage, over: Partial<ResultMessage> = {}): void {
    const endNs = this.nowNs();
    const { id, gpu, kind, model, count, inputs } = action;
    const isBroken = kind === LOAD && this.broken.includes(model);
    const failure = isBroken ? 'the file is corrupt' : kind === INFER ? this.failing.get(model) : undefined;
    const error = failure === undefined ? {} : { status: STATUS_DEVICE_ERROR, error: failure };
    if (kind === LOAD && !isBroken) this.present[gpu].add(model);
    if (kind === UNLOAD) this.present[gpu].delete(model);
    this.machineEvents?.results([
      {
        id,
        gpu,
        status: STATUS_OK,
        beginNs: endNs - this.durationNs(action),
        endNs,
        copyInNs: 0,
        copyOutNs: 0,
        outputs: kind === INFER ? compute(inputs, count) : [],
        error: '',
        ...error,
        ...over,
      },
    ]);
  }

  kinds(kind: number): ActionMessage[] {
    return this.sent.filter((action) => action.kind === kind);
  }

  private durationNs({ kind, model, batchIndex }: ActionMessage): number {
    const spec = this.models[model]?.spec;
    if (spec === undefined) throw new Error(`${this.name} has no model ${model}`);
    return kind === LOAD ? spec.loadNs : kind === INFER ? spec.execNs[batchIndex] : 0;
  }
}

/** Resolves when what a worker has heard is known to its controller. */
async function settled(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve();
}
