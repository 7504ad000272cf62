import { monotonicNs } from '../../../src/base/clock/clock.js';
import { OUTCOME_OK } from '../../../src/core/request.js';
import { ServedState } from '../../../src/live/controller/served-state.js';
import { DATATYPES, type Datatype, type ServedModel, type TensorSignature } from '../../../src/live/model.js';
import {
  type InferenceAnswer,
  type InferenceRequest,
  type ModelEntry,
  type ModelStatistics,
  ServiceError,
  type ServiceState,
  STANDS_BY,
  type WatchedService,
} from '../../../src/live/service.js';

/** Answers every request with its own inputs, one output for each, unless the test says otherwise. */
export class FakeService implements WatchedService {
  readonly requests: InferenceRequest[] = [];
  /** Answers later by itself; null: the test answers. */
  answer: ((request: InferenceRequest, nth: number) => InferenceAnswer) | null = echo;
  /** Part of the state, where a test says so. */
  howLoaded: string | undefined;
  takeovers = 0;
  /** Configurations that came with loads. */
  readonly configs: string[] = [];
  private readonly served: ServedState;
  private readonly unloaded = new Set<string>();
  /** Resolves when all watchers know of the last change. */
  notified: Promise<unknown> = Promise.resolve();
  private readonly watchers = new Set<() => unknown>();

  constructor(readonly models: readonly ServedModel[]) {
    this.served = new ServedState(models, null);
    this.served.watch(() => this.changed());
  }

  set notReady(reason: string | null) {
    this.served.setNotReady(reason);
  }

  /** Leaves it the workers of another controller. */
  yielded(): void {
    this.served.setNotReady(STANDS_BY, true);
  }

  async wants(): Promise<void> {}

  async takeOver(): Promise<void> {
    this.takeovers++;
    this.served.setNotReady(null);
  }

  get state(): ServiceState {
    const { howLoaded } = this;
    const { current } = this.served;
    const entries = current.entries.map((entry): ModelEntry => {
      if (!this.unloaded.has(entry.name)) return entry;
      return { ...entry, state: 'unavailable', reason: 'unloaded', isUnloaded: true, index: -1 };
    });
    return { ...current, entries, ...(howLoaded === undefined ? {} : { howLoaded }) };
  }

  watch(changed: () => unknown): () => void {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  }

  async load(name: string, config?: string): Promise<void> {
    this.check(name);
    if (config !== undefined) this.configs.push(config);
    this.unloaded.delete(name);
    this.changed();
  }

  async unload(name: string): Promise<void> {
    this.check(name);
    this.unloaded.add(name);
    this.changed();
  }

  async look(): Promise<void> {}

  async statistics(): Promise<readonly ModelStatistics[]> {
    return [];
  }

  nowNs(): number {
    return monotonicNs();
  }

  infer(request: InferenceRequest): void {
    const nth = this.requests.push(request) - 1;
    const { answer } = this;
    if (answer !== null) setImmediate(() => request.done(answer(request, nth)));
  }

  private check(name: string): void {
    const isThere = this.models.some(({ spec }) => spec.name === name);
    if (!isThere)
      throw new ServiceError('unknown', `Request for unknown model: ${JSON.stringify(name)} is not found`);
  }

  private changed(): void {
    this.notified = Promise.all([...this.watchers].map((changed) => changed()));
  }
}

export function echo(request: InferenceRequest): InferenceAnswer {
  return { outcome: OUTCOME_OK, outputs: request.inputs, predictedNs: 0, batchSize: 1, error: '' };
}

/** An answer without outputs. */
export function failure(outcome: 2 | 3 | 4, predictedNs = 0, error = ''): InferenceAnswer {
  return { outcome, outputs: [], predictedNs, batchSize: 0, error };
}

export type TensorSketch = readonly [name: string, datatype: Datatype, shape: readonly number[]];

/** A model whose outputs are its inputs, named `out-…`. */
export function echoModel(
  name: string,
  batched: boolean,
  inputs: readonly TensorSketch[],
  sloNs: number | null = null,
): ServedModel {
  const tensors = inputs.map(tensor);
  const bytes = tensors.reduce((sum, input) => sum + input.bytes, 0);
  return {
    spec: {
      name,
      weightsBytes: 1,
      pages: 1,
      loadNs: 1,
      batchSizes: [1],
      execNs: [1],
      inputBytes: bytes,
      outputBytes: bytes,
    },
    signature: {
      inputs: tensors,
      outputs: tensors.map((input) => ({ ...input, name: `out-${input.name}` })),
      batched,
    },
    version: '1',
    sloNs,
  };
}

function tensor([name, datatype, shape]: TensorSketch): TensorSignature {
  return { name, datatype, shape, bytes: shape.reduce((a, b) => a * b, DATATYPES[datatype].bytes) };
}
