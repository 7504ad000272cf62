import { EscapementError } from '../../base/errors.js';
import { type DeviceSpec, deviceName, hasOneLane } from '../device.js';
import type {
  ActionMessage,
  GpuDescription,
  ModelReference,
  WorkerDescription,
  WorkerState,
} from '../messages.js';
import type { ModelSource, ServedModel, WorkerModel } from '../model.js';
import { type ModelList, NO_MODELS } from '../model-list.js';
import { mergeOperatorRuns, type OperatorRuns } from '../operator-runs.js';
import { copied } from '../parcel.js';
import { REAL_WORLD } from '../world/real-world.js';
import { Executor, type ExecutorEvents } from './executor/executor.js';
import type { ThreadSetSpec, ThreadWorld } from './executor/thread-set.js';
import type { Machine, MachineEvents } from './machine.js';
import { MachineModels, served } from './machine-models.js';

export interface MachineOptions {
  /** Common name of its GPUs' kind; default: their provider. */
  readonly kind?: string;
  /** One per GPU. */
  readonly devices: readonly DeviceSpec[];
  /** For simulated devices their profiles are already scaled. */
  readonly models: readonly WorkerModel[];
  /** Source of models that a controller requests; absent: only `models` exist. */
  readonly source?: ModelSource;
  /** Pages of each GPU's weights cache. */
  readonly pages: number;
  readonly pageBytes: number;
  /** Default: this process and its machine. */
  readonly world?: ThreadWorld;
  /** Called when a driver loses a GPU. */
  readonly gpuLost?: MachineEvents['gpuDown'];
}

/**
 * Starts the executors of this process's GPUs. Rejects with `E_DEVICE` if a device is missing or unusable, and with
 * `E_MODEL_FILE` if a model without weights is to run on a real device.
 */
export async function startMachine(options: MachineOptions): Promise<LocalMachine> {
  checkDevices(options);
  const machine = new LocalMachine(options);
  try {
    await machine.start();
  } catch (error) {
    await machine.close();
    throw error;
  }
  return machine;
}

/** GPUs of this process. All simulated ones share a thread; the others have one each, and threads for models. */
export class LocalMachine implements Machine {
  readonly description: WorkerDescription;
  readonly executors: readonly Executor[];
  /** By GPU. */
  private readonly executorOf: readonly Executor[];
  private readonly simulated: readonly boolean[];
  private readonly held: MachineModels;
  private readonly source: ModelSource;
  private events: MachineEvents | null = null;
  /** Chain of recording starts and stops, which run one after the other. */
  private recording: Promise<void> = Promise.resolve();

  constructor(options: MachineOptions) {
    const { kind, devices, models, pages, pageBytes, world = REAL_WORLD } = options;
    const gpus = devices.map((device) => describe(device, pages));
    this.description = {
      gpus,
      pageBytes,
      models: models.map(served),
      ...(kind === undefined ? {} : { kind }),
    };
    this.source = options.source ?? new StartedModels(models);
    this.held = new MachineModels(models, this.source, (model) => checkWeights(model, devices));
    this.executors = threadSets(options, this.held.list).map((spec) =>
      this.createExecutor(spec, world, options),
    );
    this.executorOf = devices.map(
      (_, gpu) => this.executors.find(({ spec }) => spec.gpus.some((one) => one.gpu === gpu)) as Executor,
    );
    this.simulated = devices.map(({ kind }) => kind === 'simulated');
  }

  /** Rejects with the first failure once all executors have started or failed. */
  async start(): Promise<void> {
    const starts = await Promise.allSettled(this.executors.map((executor) => executor.start()));
    const failure = starts.find(({ status }) => status === 'rejected');
    if (failure?.status === 'rejected') throw failure.reason;
  }

  get models(): readonly (ServedModel | null)[] {
    return this.held.list;
  }

  attach(events: MachineEvents): void {
    this.events = events;
  }

  prepare(action: ActionMessage): ActionMessage {
    const { gpu, model, inputs } = action;
    if (inputs.length === 0) return action;
    // A simulated GPU uses only their lengths.
    const unused = this.simulated[gpu] && this.models[model]?.signature.lengths === undefined;
    return { ...action, inputs: unused ? [] : copied(inputs) };
  }

  submit(actions: readonly ActionMessage[]): void {
    const batches = new Map<Executor, ActionMessage[]>();
    for (const action of actions) {
      const executor = this.executorOf[action.gpu];
      const batch = batches.get(executor);
      if (batch === undefined) batches.set(executor, [action]);
      else batch.push(action);
    }
    for (const [executor, batch] of batches) executor.submit(batch);
  }

  async quiesce(): Promise<WorkerState> {
    const present: (readonly number[])[] = this.description.gpus.map(() => []);
    await Promise.all(
      this.executors.map(async (executor) => {
        const held = await executor.quiesce();
        for (const [i, { gpu }] of executor.spec.gpus.entries()) present[gpu] = held[i];
      }),
    );
    const { changes } = this.held;
    return changes.length === 0 ? { present } : { present, changes };
  }

  listModels(name: string | null): Promise<ModelList> {
    return this.source.list(name);
  }

  addModel(index: number, reference: ModelReference): Promise<ServedModel> {
    return this.held.add(index, reference, () => this.modelChanged(index));
  }

  dropModel(index: number): Promise<void> {
    return this.held.drop(index, () => this.modelChanged(index));
  }

  startRecording(): void {
    this.recording = this.recording.then(() => {
      for (const executor of this.executors) executor.startRecording();
    });
    // Errors are reported by `stopRecording`.
    this.recording.catch(() => {});
  }

  stopRecording(): Promise<OperatorRuns> {
    const stop = () => Promise.all(this.executors.map((executor) => executor.stopRecording()));
    const stopped = this.recording.then(stop, async (error) => {
      await stop();
      throw error;
    });
    this.recording = stopped.then(
      () => {},
      () => {},
    );
    return stopped.then(mergeOperatorRuns);
  }

  async close(): Promise<void> {
    this.events = null;
    await this.source.close();
    await Promise.all(this.executors.map((executor) => executor.stop()));
  }

  private async modelChanged(index: number): Promise<void> {
    await Promise.all(this.executors.map((executor) => executor.modelChanged(index)));
  }

  private createExecutor(spec: ThreadSetSpec, world: ThreadWorld, { gpuLost }: MachineOptions): Executor {
    const events: ExecutorEvents = {
      results: (results) => this.events?.results(results),
      died: (reason) => {
        if (this.events === null) return;
        for (const { gpu } of spec.gpus) {
          gpuLost?.(gpu, reason);
          this.events.gpuDown(gpu, reason);
        }
      },
    };
    return new Executor(spec, events, world);
  }
}

function threadSets(
  { devices, source, pages }: MachineOptions,
  models: readonly (WorkerModel | null)[],
): ThreadSetSpec[] {
  const expected = source === undefined ? models.length : Math.max(models.length, EXPECTED_MODELS);
  const gpus = devices.map((device, gpu) => ({ gpu, device }));
  const simulated = gpus.filter(({ device }) => device.kind === 'simulated');
  const real = gpus.filter(({ device }) => device.kind !== 'simulated');
  const sets = real.map((spec) => ({
    gpus: [spec],
    models,
    pages,
    hosts: hostsOf(spec.device, expected),
  }));
  return simulated.length === 0 ? sets : [...sets, { gpus: simulated, models, pages, hosts: 0 }];
}

/** Minimum number of models that a GPU has threads for if some may be added. */
const EXPECTED_MODELS = 4;

/** Number of threads that own the models of a GPU: the more there are, the less often two models share one. */
function hostsOf(device: DeviceSpec, models: number): number {
  if (device.kind === 'simulated') return 0;
  return hasOneLane(device) ? 1 : Math.min(models, device.session.laneThreads);
}

function checkDevices({ devices, models }: MachineOptions): void {
  if (devices.filter(({ kind }) => kind === 'webgpu').length > 1) {
    throw new EscapementError(
      'E_DEVICE',
      'webgpu supports one GPU per process: start one worker process for each GPU',
    );
  }
  for (const model of models) checkWeights(model, devices);
}

function checkWeights({ spec, ortPath }: WorkerModel, devices: readonly DeviceSpec[]): void {
  const real = devices.find(({ kind }) => kind !== 'simulated');
  if (real === undefined || ortPath !== null) return;
  throw new EscapementError(
    'E_MODEL_FILE',
    `model ${spec.name} is a profile without weights: it runs on a simulated device, not on ${real.kind}`,
  );
}

function describe(device: DeviceSpec, pages: number): GpuDescription {
  return { name: deviceName(device), provider: device.kind, pages, oneLane: hasOneLane(device) };
}

/** A worker without a repository has only its initial models. */
class StartedModels implements ModelSource {
  constructor(private readonly models: readonly WorkerModel[]) {}

  async list(name: string | null): Promise<ModelList> {
    const versions = this.models
      .filter(({ spec }) => name === null || spec.name === name)
      .map(({ spec, version, digest = '' }) => ({ name: spec.name, version, digest, isMeasured: true }));
    return { ...NO_MODELS, versions };
  }

  async open(name: string, version: string): Promise<WorkerModel> {
    const model = this.models.find((each) => each.spec.name === name && each.version === version);
    if (model === undefined) throw new Error('it has no other models than those that it was started with');
    return model;
  }

  async close(): Promise<void> {}
}
