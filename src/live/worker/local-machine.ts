import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import type { Timer } from '../../base/world/time.js';
import { ACTION_NAMES } from '../../core/action.js';
import { type DeviceSpec, deviceName, hasOneLane } from '../device.js';
import type {
  ActionMessage,
  GpuDescription,
  ResultMessage,
  WorkerDescription,
  WorkerState,
} from '../messages.js';
import type { ServedModel, WorkerModel } from '../model.js';
import { type ModelList, type ModelReference, type ModelSource, NO_MODELS } from '../model-list.js';
import { deviceMemory } from '../ort/device-memory.js';
import { copied } from '../transfer.js';
import { REAL_WORLD } from '../world/real-world.js';
import type { GpuMemory, RunningAction, ThreadReport } from './executor/protocol.js';
import { ThreadSet, type ThreadSetSpec, type ThreadWorld } from './executor/thread-set.js';
import type { Machine, MachineEvents } from './machine.js';
import { MachineModels, served } from './machine-models.js';
import { MemoryWatch } from './memory-watch.js';

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
  private readonly readsInputs: readonly boolean[];
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
    this.readsInputs = devices.map((device) => device.kind !== 'simulated' || device.readsInputs === true);
    const known = this.executors.filter(({ spec }) => spec.gpus.some(({ device }) => tellsMemory(device)));
    if (known.length > 0)
      this.readings = world.time
        .every(memoryReadingMs, () => {
          for (const executor of known) executor.askMemory();
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

  prepare(action: ActionMessage): ActionMessage {
    const { gpu, model, inputs } = action;
    if (inputs.length === 0) return action;
    const areRead = this.readsInputs[gpu] || this.models[model]?.signature.lengths !== undefined;
    return { ...action, inputs: areRead ? copied(inputs) : [] };
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

  private createExecutor(spec: ThreadSetSpec, world: ThreadWorld, { gpuLost }: MachineOptions): Executor {
    const events: ExecutorEvents = {
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

interface ExecutorEvents {
  results(results: readonly ResultMessage[]): void;
  /** Answer to `askMemory`. */
  memory(gpus: readonly GpuMemory[]): void;
  /** Its threads have died: nothing sent to its GPUs is answered any more, until it has quiesced. */
  died(reason: string): void;
}

/** By GPU of the executor: models with weights present. */
type Present = readonly (readonly number[])[];

/** Time that running actions may take when the threads are to be idle, and that a worker drains. */
const QUIESCE_NS = 30 * NS_PER_S;

/** Threads of one executor as seen by the machine: they take actions, and can die and be restarted. */
export class Executor {
  /** Null: they have died, or could not be started. */
  private live: ThreadSet | null = null;
  /** Resolves when the previous ones have ended. */
  private stopped: Promise<void> = Promise.resolve();
  private former: ThreadSet | null = null;
  private starting: ThreadSet | null = null;
  private restarting: Promise<void> | null = null;
  private readonly quiesces: ((present: Present) => void)[] = [];
  /** Set while it quiesces. */
  private limit: Timer | null = null;
  /** Actions that it waits for then, or has waited for in vain. */
  private running: readonly RunningAction[] = [];
  private closed = false;

  constructor(
    readonly spec: ThreadSetSpec,
    private readonly events: ExecutorEvents,
    private readonly world: ThreadWorld,
  ) {}

  /** Its threads; none while it is dead. */
  get threads(): ThreadSet['threads'] {
    return this.live?.threads ?? [];
  }

  /**
   * Starts the threads after the previous ones have ended. Rejects if that fails, with `E_DEVICE` if those don't end.
   */
  async start(): Promise<void> {
    await this.stopped;
    if (this.former?.isGone === false) throw this.stuck();
    const events = {
      report: (report: ThreadReport) => this.reported(report),
      died: (reason: string) => this.died(threads, reason),
    };
    const threads = new ThreadSet(this.spec, events, this.world);
    this.starting = threads;
    const { models } = this.spec;
    const known = [...models];
    try {
      await threads.start();
      const changed = () => models.findIndex((model, index) => model !== known[index]);
      // One may change while the threads take in another.
      for (let index = changed(); index >= 0; index = changed()) {
        known[index] = models[index];
        await threads.putModel(index, models[index]);
      }
      if (threads.isOver) throw new Error('a thread of its executor ended while the others started');
    } catch (error) {
      this.retire(threads);
      await this.stopped;
      throw error;
    } finally {
      this.starting = null;
    }
    this.running = [];
    this.live = threads;
  }

  /** Applies a change of the model at the index. Dead threads learn it when they start. */
  async modelChanged(index: number): Promise<void> {
    await this.live?.putModel(index, this.spec.models[index]);
  }

  submit(actions: readonly ActionMessage[]): void {
    this.live?.post({ kind: 'actions', actions });
  }

  askMemory(): void {
    this.live?.post({ kind: 'memory' });
  }

  /** Ends its threads as if they had died, unless they are to be idle. */
  giveUp(reason: string): void {
    if (this.live !== null && this.quiesces.length === 0) this.died(this.live, reason);
  }

  /**
   * Drops waiting actions, and resolves when nothing runs. Restarts dead threads, and those whose device has not
   * returned for 30 s; if that fails, `died` is called once more, later.
   */
  async quiesce(): Promise<Present> {
    const { live } = this;
    if (live !== null) {
      return new Promise((resolve) => {
        this.quiesces.push(resolve);
        this.limit ??= this.world.time.after(QUIESCE_NS / NS_PER_MS, () =>
          this.died(live, this.stuck().message),
        );
        live.post({ kind: 'quiesce' });
      });
    }
    this.restarting ??= this.restart();
    await this.restarting;
    return this.nothing();
  }

  /** Ends the threads for good. */
  async stop(): Promise<void> {
    this.closed = true;
    void this.starting?.stop();
    await this.restarting;
    if (this.live !== null) this.retire(this.live);
    await this.stopped;
    for (const resolve of this.takeQuiesces()) resolve(this.nothing());
  }

  private reported(report: ThreadReport): void {
    if (report.kind === 'quiesced') this.quiesced(report.present);
    else if (report.kind === 'memory') this.events.memory(report.gpus);
    else if (report.kind === 'waits') this.running = report.actions;
    // While it quiesces, results are of actions that no longer matter.
    else if (report.kind === 'results' && this.quiesces.length === 0) this.events.results(report.results);
  }

  private quiesced(present: Present): void {
    const resolve = this.quiesces.shift();
    if (this.quiesces.length === 0) {
      this.takeQuiesces();
      this.running = [];
    }
    resolve?.(present);
  }

  /** Takes the callers that wait for a completed quiesce. */
  private takeQuiesces(): ((present: Present) => void)[] {
    this.limit?.cancel();
    this.limit = null;
    return this.quiesces.splice(0);
  }

  /** Retires the threads. */
  private retire(threads: ThreadSet): void {
    this.live = null;
    this.former = threads;
    this.stopped = threads.stop();
  }

  private died(threads: ThreadSet, reason: string): void {
    // It has not started: `start` sees it.
    if (this.live !== threads) return;
    this.retire(threads);
    const waiting = this.takeQuiesces();
    if (waiting.length === 0) this.events.died(reason);
    else
      void this.quiesce().then((present) => {
        for (const resolve of waiting) resolve(present);
      });
  }

  private async restart(): Promise<void> {
    try {
      if (!this.closed) await this.start();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      // After the caller that awaits the quiesce has continued.
      this.world.time.soon(() => this.events.died(reason));
    } finally {
      this.restarting = null;
    }
  }

  /** Error that its threads neither continue nor end. */
  private stuck(): EscapementError {
    const { gpus, models } = this.spec;
    const actions = this.running.map(({ gpu, kind, model }) => {
      const device = gpus.find((one) => one.gpu === gpu)?.device;
      const name = device === undefined ? '' : ` (${deviceName(device)})`;
      return `the ${ACTION_NAMES[kind]} of model ${models[model]?.spec.name ?? model} on GPU ${gpu}${name}`;
    });
    const what = actions.length === 0 ? 'a call of the device' : actions.join(' and ');
    return new EscapementError('E_DEVICE', `${what} is hung; the GPU is out of service until it returns`);
  }

  private nothing(): Present {
    return this.spec.gpus.map(() => []);
  }
}
