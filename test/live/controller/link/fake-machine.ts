import { monotonicNs } from '../../../../src/base/clock/clock.js';
import { INFER } from '../../../../src/core/action.js';
import type {
  ActionMessage,
  ResultMessage,
  WorkerDescription,
  WorkerState,
} from '../../../../src/live/messages.js';
import type { ServedModel } from '../../../../src/live/model.js';
import type { ModelReference } from '../../../../src/live/model-list.js';
import { type ModelList, NO_MODELS } from '../../../../src/live/model-list.js';
import type { Machine, MachineEvents } from '../../../../src/live/worker/machine.js';

/** A tensor type of each size, a model that is not batched, an SLO of its own and none. */
export const DESCRIPTION: WorkerDescription = {
  gpus: [
    { name: 'cpu, 1 thread', provider: 'cpu', pages: 600, oneLane: false },
    { name: 'some GPU', provider: 'webgpu', pages: 600, oneLane: true },
  ],
  pageBytes: 16 * 1024 * 1024,
  models: [
    {
      spec: {
        name: 'echo',
        weightsBytes: 4_700_000_000,
        pages: 281,
        loadNs: 3_599_999_999_999,
        batchSizes: [1, 2, 4],
        execNs: [1_000_000, 1_500_000, 4_294_967_297],
        inputBytes: 5,
        outputBytes: 5,
      },
      signature: {
        inputs: [
          { name: 'data', datatype: 'UINT8', shape: [3], bytes: 3 },
          { name: 'größe', datatype: 'FP16', shape: [], bytes: 2 },
        ],
        outputs: [
          { name: 'same', datatype: 'UINT8', shape: [3], bytes: 3 },
          { name: 'other', datatype: 'FP16', shape: [1, 1], bytes: 2 },
        ],
        batched: true,
      },
      version: '1',
      sloNs: null,
    },
    {
      spec: {
        name: 'large',
        weightsBytes: 0,
        pages: 1,
        loadNs: 1,
        batchSizes: [1, 2],
        execNs: [1, 1],
        inputBytes: 2 * 1024 * 1024,
        outputBytes: 2 * 1024 * 1024,
      },
      signature: {
        inputs: [{ name: 'x', datatype: 'FP32', shape: [1024, 512], bytes: 2 * 1024 * 1024 }],
        outputs: [{ name: 'y', datatype: 'FP32', shape: [1024, 512], bytes: 2 * 1024 * 1024 }],
        batched: false,
      },
      version: '20240229',
      sloNs: 25_000_000,
    },
  ],
};

export const STATE: WorkerState = { present: [[1, 0], []] };

/** Keeps what it is given; answers every action with its own inputs, after `answer` was called or at once. */
export class FakeMachine implements Machine {
  readonly description = DESCRIPTION;
  models: (ServedModel | null)[] = [...DESCRIPTION.models];
  /** Models that could be added, by name. */
  offers: readonly ServedModel[] = [];
  /** What was asked of its models. */
  readonly changes: string[] = [];
  readonly submitted: ActionMessage[] = [];
  quiesces = 0;
  /** Most calls of `quiesce` that were under way together. */
  quiescesAtOnce = 0;
  /** False: actions are kept and not answered. */
  answering = true;
  /** What `quiesce` waits for. */
  idle: Promise<unknown> = Promise.resolve();
  /** What `quiesce` resolves with. */
  state: WorkerState = STATE;
  private quiescing = 0;
  private events: MachineEvents = { results: () => {}, gpuDown: () => {} };

  attach(events: MachineEvents): void {
    this.events = events;
  }

  submit(actions: readonly ActionMessage[]): void {
    this.submitted.push(...actions);
    // Within the call on purpose: a driver of a machine has to cope with that.
    if (this.answering) this.report(actions.map(resultOf));
  }

  /** Keeps it from becoming idle until the returned function is called. */
  hold(): () => void {
    let free = () => {};
    this.idle = new Promise<void>((resolve) => {
      free = resolve;
    });
    return () => free();
  }

  async quiesce(): Promise<WorkerState> {
    this.quiesces++;
    this.quiescing++;
    this.quiescesAtOnce = Math.max(this.quiescesAtOnce, this.quiescing);
    try {
      await this.idle;
      return this.state;
    } finally {
      this.quiescing--;
    }
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

  async addModel(index: number, { name, version, digest }: ModelReference): Promise<ServedModel> {
    this.changes.push(`add ${name} ${version} ${digest} at ${index}`);
    const model = this.offers.find(({ spec }) => spec.name === name);
    if (model === undefined) throw new Error(`there is no model ${name}`);
    this.models[index] = model;
    return model;
  }

  async dropModel(index: number): Promise<void> {
    this.changes.push(`drop ${index}`);
    this.models[index] = null;
  }

  async close(): Promise<void> {}

  report(results: readonly ResultMessage[]): void {
    this.events.results(results);
  }

  killGpu(gpu: number, reason: string): void {
    this.events.gpuDown(gpu, reason);
  }
}

/** What the fake machine answers. */
export function resultOf(action: ActionMessage): ResultMessage {
  const nowNs = monotonicNs();
  return {
    id: action.id,
    gpu: action.gpu,
    status: 0,
    beginNs: nowNs - 1000,
    endNs: nowNs,
    copyInNs: 300,
    copyOutNs: 200,
    outputs: action.kind === INFER ? action.inputs.map((input) => new Uint8Array(input)) : [],
    error: '',
  };
}
