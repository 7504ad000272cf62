import { EscapementError } from '../../base/errors.js';
import { MIB, NS_PER_MS } from '../../base/units.js';
import type { Timer } from '../../base/world/time.js';
import { Backoff } from '../backoff.js';
import { type DeviceMemory, type DeviceSpec, deviceName, hasOneLane } from '../device.js';
import type {
  ActionMessage,
  GpuDescription,
  ModelChange,
  WorkerDescription,
  WorkerState,
} from '../messages.js';
import type { ServedModel, WorkerModel } from '../model.js';
import { type ModelList, type ModelReference, type ModelSource, NO_MODELS } from '../model-list.js';
import { deviceMemory } from '../ort/device-memory.js';
import { Turns } from '../turns.js';
import { REAL_WORLD } from '../world/real-world.js';
import { Executor, type ExecutorSpec, type ThreadWorld } from './executor/executor.js';
import type { GpuMemory } from './executor/protocol.js';
import type { Machine, MachineEvents } from './machine.js';

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
  /** Share of a device's memory that may be in use without being accounted for; above it, its GPU is restarted. Default: 1. */
  readonly memoryLeak?: number;
  /** Time between two readings of a device's memory. Default: 30 s. */
  readonly memoryReadingMs?: number;
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
  private readonly held: MachineModels;
  private readonly source: ModelSource;
  private readonly pageBytes: number;
  private readonly time: ThreadWorld['time'];
  /** By GPU. */
  private readonly watches: readonly MemoryWatch[];
  private readonly readings: Timer | null = null;
  private events: MachineEvents | null = null;

  constructor(options: MachineOptions) {
    const { kind, devices, models, pages, pageBytes, world = REAL_WORLD } = options;
    const { memoryLeak = 1, memoryReadingMs = READING_MS } = options;
    this.pageBytes = pageBytes;
    this.time = world.time;
    this.watches = devices.map(() => new MemoryWatch(memoryLeak));
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
    const known = this.executors.filter(({ spec }) => spec.gpus.some(({ device }) => tellsMemory(device)));
    if (known.length > 0)
      this.readings = world.time
        .every(memoryReadingMs, () => {
          for (const executor of known) executor.post({ kind: 'memory' });
        })
        .unref();
  }

  /** Memory of each GPU by purpose, as far as known: labels and bytes. */
  *memory(): Generator<readonly [labels: readonly string[], bytes: number]> {
    for (const [gpu, { use }] of this.watches.entries())
      for (const [part, bytes] of Object.entries(use ?? {})) yield [[String(gpu), part], bytes];
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

  submit(actions: readonly ActionMessage[]): void {
    const batches = new Map<Executor, ActionMessage[]>();
    for (const action of actions) {
      const executor = this.executorOf[action.gpu];
      const batch = batches.get(executor);
      if (batch === undefined) batches.set(executor, [action]);
      else batch.push(action);
    }
    for (const [executor, batch] of batches) executor.post({ kind: 'actions', actions: batch });
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

  listModels(name: string | null, config?: string): Promise<ModelList> {
    return this.source.list(name, config);
  }

  addModel(index: number, reference: ModelReference): Promise<ServedModel | null> {
    return this.held.add(index, reference, () => this.modelChanged(index));
  }

  dropModel(index: number): Promise<void> {
    return this.held.drop(index, () => this.modelChanged(index));
  }

  async close(): Promise<void> {
    this.events = null;
    this.readings?.cancel();
    await this.source.close();
    await Promise.all(this.executors.map((executor) => executor.stop()));
  }

  private async modelChanged(index: number): Promise<void> {
    await Promise.all(this.executors.map((executor) => executor.modelChanged(index)));
  }

  private createExecutor(spec: ExecutorSpec, world: ThreadWorld, { gpuLost }: MachineOptions): Executor {
    const events: ConstructorParameters<typeof Executor>[1] = {
      results: (results) => this.events?.results(results),
      memory: (gpus) => void this.compareMemory(executor, gpus),
      died: (reason) => {
        if (this.events === null) return;
        for (const { gpu } of spec.gpus) {
          gpuLost?.(gpu, reason);
          this.events.gpuDown(gpu, reason);
        }
      },
    };
    const executor = new Executor(spec, events, world);
    return executor;
  }

  private async compareMemory(executor: Executor, gpus: readonly GpuMemory[]): Promise<void> {
    const { threads, spec } = executor;
    for (const [i, { usedPages, device: known }] of gpus.entries()) {
      const { gpu, device } = spec.gpus[i];
      const memory = device.kind === 'simulated' ? known : await deviceMemory(device);
      if (memory === null || executor.threads !== threads) continue;
      const weights = usedPages * this.pageBytes;
      const reason = this.watches[gpu].take(threads, memory, weights, this.time.monotonicNs());
      if (reason !== '') executor.giveUp(reason);
    }
  }
}

/** Time between two readings of a device's memory. */
const READING_MS = 30_000;

function tellsMemory(device: DeviceSpec): boolean {
  return device.kind === 'simulated' ? device.memory !== undefined : device.kind === 'cuda';
}

function threadSets(
  { devices, source, pages }: MachineOptions,
  models: readonly (WorkerModel | null)[],
): ExecutorSpec[] {
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
export class StartedModels implements ModelSource {
  constructor(private readonly models: readonly WorkerModel[]) {}

  async list(name: string | null): Promise<ModelList> {
    const versions = this.models
      .filter(({ spec }) => name === null || spec.name === name)
      .map(({ spec, version, digest = '' }) => ({ name: spec.name, version, digest, isMeasured: true }));
    return { ...NO_MODELS, versions };
  }

  async open({ name, version }: ModelReference): Promise<WorkerModel | null> {
    return this.models.find((each) => each.spec.name === name && each.version === version) ?? null;
  }

  async close(): Promise<void> {}
}

/** Models of a machine by index, as they come and go. */
class MachineModels {
  /** Null: none. */
  readonly list: (WorkerModel | null)[];
  private readonly changed = new Map<number, ModelReference | null>();
  /** By index: changes are made one after the other. */
  private readonly turns = new Turns<number>();

  constructor(
    models: readonly WorkerModel[],
    private readonly source: ModelSource,
    /** Throws if the machine can't run the model. */
    private readonly check: (model: WorkerModel) => void,
  ) {
    this.list = [...models];
  }

  /** Differences from the start. */
  get changes(): ModelChange[] {
    return [...this.changed].map(([index, reference]) => ({ index, reference }));
  }

  /** `apply` passes the entry of `list` at the index to the threads. */
  add(index: number, reference: ModelReference, apply: () => Promise<void>): Promise<ServedModel | null> {
    return this.turns.take(index, async () => {
      const { name, digest, config } = reference;
      const present = this.list[index] ?? null;
      if (present !== null && isSame(this.changed.get(index), reference)) return served(present);
      await this.set(index, null, null, apply);
      const model = await this.source.open(reference);
      if (model === null) return null;
      this.check(model);
      try {
        // Resolved, if the reference left it open.
        const found = { name, version: model.version, digest: model.digest ?? digest, config };
        await this.set(index, model, found, apply);
      } catch (error) {
        this.list[index] = null;
        this.changed.set(index, null);
        throw error;
      }
      return served(model);
    });
  }

  drop(index: number, apply: () => Promise<void>): Promise<void> {
    return this.turns.take(index, () => this.set(index, null, null, apply));
  }

  private async set(
    index: number,
    model: WorkerModel | null,
    reference: ModelReference | null,
    apply: () => Promise<void>,
  ): Promise<void> {
    while (this.list.length <= index) this.list.push(null);
    if (this.list[index] === model) return;
    this.list[index] = model;
    this.changed.set(index, reference);
    await apply();
  }
}

/** False if the reference leaves the files open: they may have changed. */
function isSame(
  before: ModelReference | null | undefined,
  { name, version, digest }: ModelReference,
): boolean {
  return digest !== '' && before?.name === name && before.version === version && before.digest === digest;
}

/** The part of a model that a controller sees. */
function served({ ortPath: _, ...model }: WorkerModel): ServedModel {
  return model;
}

/** Consecutive readings that count: a LOAD or UNLOAD in progress is over by the second. */
const READINGS = 2;
/** Shortest and longest time between two restarts: one that does not help is not repeated all the time. */
const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 3_600_000;

/**
 * Compares the memory of a device that is in use with what its weights cache accounts for. `start` is the rest when its
 * threads began, or the least since: libraries, and other processes.
 */
export class MemoryWatch {
  /** Bytes in use by purpose; null: not known yet. */
  use: Readonly<Record<'weights' | 'start' | 'unaccounted', number>> | null = null;
  private threads: unknown;
  private startBytes = 0;
  private above = 0;
  private readonly pauses = new Backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  private pausedUntilNs = 0;

  /** `mostShare`: share of the device's memory that may be unaccounted for. */
  constructor(private readonly mostShare: number) {}

  /** Returns why these threads of the GPU have to be restarted; empty: they need not. */
  take(threads: unknown, { usedBytes, totalBytes }: DeviceMemory, weights: number, nowNs: number): string {
    const restBytes = Math.max(0, usedBytes - weights);
    this.startBytes = threads === this.threads ? Math.min(this.startBytes, restBytes) : restBytes;
    this.threads = threads;
    const unaccounted = restBytes - this.startBytes;
    this.use = { weights, start: this.startBytes, unaccounted };
    this.above = unaccounted > this.mostShare * totalBytes ? this.above + 1 : 0;
    if (this.above < READINGS || nowNs < this.pausedUntilNs) return '';
    this.above = 0;
    this.pausedUntilNs = nowNs + this.pauses.delayMs(nowNs) * NS_PER_MS;
    const share = `${Math.round(this.mostShare * 100)}%`;
    return `${Math.round(unaccounted / MIB)} MiB of its memory are in use that nothing accounts for, more than ${share} (runtime.memoryLeak)`;
  }
}
