import { type FileHandle, open } from 'node:fs/promises';
import '../../ort/environment.js';
import { MessageChannel, type TransferListItem } from 'node:worker_threads';
import { compiledNextTo } from '../../../base/compiled.js';
import { EscapementError } from '../../../base/errors.js';
import { NS_PER_MS, NS_PER_S } from '../../../base/units.js';
import type { Timer } from '../../../base/world/time.js';
import { ACTION_NAMES } from '../../../core/action.js';
import { deviceName, type OrtDeviceSpec } from '../../device.js';
import type { ResultMessage } from '../../messages.js';
import type { WorkerModel } from '../../model.js';
import { buffersOf, ExecLine, Signal } from '../../transfer.js';
import { within } from '../../within.js';
import type { ThreadHandle } from '../../world/threads.js';
import type { World } from '../../world/world.js';
import type {
  ExecutorOrder,
  ExecutorThreadData,
  GpuMemory,
  GpuSpec,
  HostLine,
  HostModelOrder,
  HostThreadData,
  RunningAction,
  ThreadReport,
} from './protocol.js';

export interface ExecutorSpec {
  /** One GPU of onnxruntime, or any number of simulated ones. */
  readonly gpus: readonly GpuSpec[];
  /** By index; null: none. Its owner may change it, and reports that. */
  readonly models: readonly (WorkerModel | null)[];
  /** Pages of each GPU's weights cache. */
  readonly pages: number;
  /** Number of host threads of the GPU; 0 for simulated ones. */
  readonly hosts: number;
}

/** Parts of the process's world that executor threads use. */
export type ThreadWorld = Pick<World, 'time' | 'threads' | 'newId'>;

interface ExecutorEvents {
  results(results: readonly ResultMessage[]): void;
  /** Memory that was asked for. */
  memory(gpus: readonly GpuMemory[]): void;
  /** Its threads have died: nothing sent to its GPUs is answered any more, until it has quiesced. */
  died(reason: string): void;
}

/** By GPU of the executor: models with weights present. */
type Present = readonly (readonly number[])[];

/** Time that running actions may take when the threads are to be idle, and that a worker drains. */
const QUIESCE_NS = 30 * NS_PER_S;

/** One GPU of onnxruntime, or all simulated ones: takes actions in threads, which can die and be restarted. */
export class Executor {
  /** The latest ones. */
  private latest: ThreadSet | null = null;
  /** True while they take actions: not before they have started, nor after they have died. */
  private isLive = false;
  private restarting: Promise<void> | null = null;
  private readonly quiesces: ((present: Present) => void)[] = [];
  /** Set while it quiesces. */
  private limit: Timer | null = null;
  /** Actions that it waits for then, or has waited for in vain. */
  private running: readonly RunningAction[] = [];
  private closed = false;

  constructor(
    readonly spec: ExecutorSpec,
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
    await this.latest?.stop();
    if (this.latest?.isGone === false) throw this.stuck();
    const threads = new ThreadSet(
      this.spec,
      {
        report: (report) => this.reported(report),
        died: (reason) => this.died(threads, reason),
      },
      this.world,
    );
    this.latest = threads;
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
      await threads.stop();
      throw error;
    }
    this.running = [];
    this.isLive = true;
  }

  /** Applies a change of the model at the index. Dead threads learn it when they start. */
  async modelChanged(index: number): Promise<void> {
    await this.live?.putModel(index, this.spec.models[index]);
  }

  /** Takes an order; dead threads take none. */
  post(order: ExecutorOrder): void {
    this.live?.post(order);
  }

  /** Ends its threads as if they had died, unless they are to be idle. */
  giveUp(reason: string): void {
    if (this.latest !== null && this.quiesces.length === 0) this.died(this.latest, reason);
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
    if (!this.isLive) void this.latest?.stop();
    await this.restarting;
    this.isLive = false;
    await this.latest?.stop();
    for (const resolve of this.takeQuiesces()) resolve(this.nothing());
  }

  private get live(): ThreadSet | null {
    return this.isLive ? this.latest : null;
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

  private died(threads: ThreadSet, reason: string): void {
    // It has not started: `start` sees it.
    if (this.live !== threads) return;
    this.isLive = false;
    void threads.stop();
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

interface ThreadSetEvents {
  report(report: ThreadReport): void;
  /** A thread has ended by itself after all were ready. Called once; the others still run. */
  died(reason: string): void;
}

/** Time for threads to end. */
const STOP_NS = 5 * NS_PER_S;
/** Time for the models of a host thread to wait for its running order. */
const CHANGE_NS = 60 * NS_PER_S;

/** An executor thread and its host threads, from their start to their end. */
class ThreadSet {
  /** The executor thread, then its host threads. */
  readonly threads: ThreadHandle[] = [];
  private readonly signal = new Signal();
  private readonly hostSignals: Signal[] = [];
  private readonly exits: Promise<void>[] = [];
  /** Changes of models, until their host threads know them. */
  private changes: { readonly index: number; readonly resolve: () => void }[] = [];
  private ready = 0;
  private readonly alive = new Set<ThreadHandle>();
  /** True if it is being stopped, or has died. */
  private over = false;
  private stopping: Promise<void> | null = null;
  private settleStart: { resolve(): void; reject(error: Error): void } | null = null;

  constructor(
    private readonly spec: ExecutorSpec,
    private readonly events: ThreadSetEvents,
    private readonly world: ThreadWorld,
  ) {}

  /** True if a thread has ended, or `stop` was called. */
  get isOver(): boolean {
    return this.over;
  }

  /** Resolves when all threads are ready. Rejects, with `E_DEVICE` if the device is missing; `stop` it then. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.settleStart = { resolve, reject };
      const { gpus, models, pages, hosts } = this.spec;
      const lines = Array.from({ length: hosts }, () => ({
        channel: new MessageChannel(),
        exec: new ExecLine().buffer,
        signal: new Signal(),
      }));
      const data: ExecutorThreadData = {
        signal: this.signal.buffer,
        gpus,
        models,
        pages,
        hosts: lines.map(({ channel, exec, signal }) => ({
          port: channel.port1,
          exec,
          signal: signal.buffer,
        })),
      };
      this.startThread(
        'executor-thread.js',
        data,
        lines.map(({ channel }) => channel.port1),
      );
      for (const [host, { channel, exec, signal }] of lines.entries()) {
        this.hostSignals.push(signal);
        const executor = { port: channel.port2, exec, signal: this.signal.buffer };
        this.startHost(host, signal, executor);
      }
    });
  }

  /** Moves buffers of inputs to the thread. */
  post(order: ExecutorOrder): void {
    const inputs = order.kind === 'actions' ? order.actions.map((action) => action.inputs) : [];
    this.threads[0].postMessage(order, buffersOf(inputs));
    this.signal.raise();
  }

  /**
   * Changes the model at the index; null: none; its predecessor is not in use. Resolves when the threads know it, or
   * are over; rejects with `E_MODEL_FILE` if its file cannot be read, and with `E_DEVICE` if the thread is blocked by
   * its device.
   */
  async putModel(index: number, model: WorkerModel | null): Promise<void> {
    const { hosts } = this.spec;
    const path = model?.ortPath ?? null;
    const hosted =
      hosts > 0 && model !== null && path !== null ? { model, bytes: await readWhole(path) } : null;
    if (this.over) return;
    this.post({ kind: 'model', index, model });
    if (hosts === 0) return;
    const host = index % hosts;
    const changed = new Promise<void>((resolve) => this.changes.push({ index, resolve }));
    const order: HostModelOrder = { index, model: hosted };
    this.threads[1 + host].postMessage(order, hosted === null ? [] : [hosted.bytes.buffer]);
    this.hostSignals[host].raise();
    if (await within(this.world.time, changed, CHANGE_NS)) return;
    const { gpu, device } = this.spec.gpus[0];
    throw new EscapementError(
      'E_DEVICE',
      `GPU ${gpu} (${deviceName(device)}) has not taken in a change of its models for ${CHANGE_NS / NS_PER_S} s: a call of the device does not return`,
    );
  }

  /** True if all threads have ended. */
  get isGone(): boolean {
    return this.alive.size === 0;
  }

  /** Lets running orders end, and resolves when the threads have ended, or time out. Nothing is reported any more. */
  stop(): Promise<void> {
    this.stopping ??= this.end();
    return this.stopping;
  }

  private async end(): Promise<void> {
    this.over = true;
    this.settleStart?.reject(new Error('the executor is stopped'));
    this.settleChanges();
    for (const signal of [this.signal, ...this.hostSignals]) signal.stop();
    if (await within(this.world.time, Promise.all(this.exits), STOP_NS)) return;
    // A call of the device has not returned: the thread ends when it does. It cannot be cut off before, since
    // onnxruntime ends the whole process if its thread is terminated during a call.
    for (const thread of this.alive) this.world.threads.abandon(thread);
  }

  private startHost(host: number, signal: Signal, executor: HostLine): void {
    const { gpus, models, hosts } = this.spec;
    const data: HostThreadData = {
      host,
      signal: signal.buffer,
      executor,
      device: gpus[0].device as OrtDeviceSpec,
      models: models.flatMap((model, index) =>
        model !== null && index % hosts === host ? [{ index, model }] : [],
      ),
    };
    this.startThread('host-thread.js', data, [executor.port]);
  }

  private startThread(
    file: string,
    workerData: ExecutorThreadData | HostThreadData,
    transferList: TransferListItem[],
  ): void {
    const entry = compiledNextTo(import.meta.url, file);
    const thread = this.world.threads.start(entry, { workerData, transferList });
    this.threads.push(thread);
    this.alive.add(thread);
    thread.on('message', (report: ThreadReport) => this.reported(report));
    thread.on('error', (error) => this.ended(error.message));
    this.exits.push(
      new Promise((resolve) => {
        thread.on('exit', (status) => {
          this.alive.delete(thread);
          this.ended(`a thread of its executor ended with status ${status}`);
          resolve();
        });
      }),
    );
  }

  private reported(report: ThreadReport): void {
    if (this.over) return;
    if (report.kind === 'ready') {
      this.ready++;
      if (this.ready === this.threads.length) this.settleStart?.resolve();
    } else if (report.kind === 'failed') {
      this.over = true;
      this.settleStart?.reject(new EscapementError(report.code, report.message));
    } else if (report.kind === 'model') this.settleChanges(report.index);
    else this.events.report(report);
  }

  /** Settles all, or the first about a model. */
  private settleChanges(index = -1): void {
    const first = this.changes.find((change) => change.index === index);
    const settled = index < 0 ? this.changes : first === undefined ? [] : [first];
    this.changes = this.changes.filter((change) => !settled.includes(change));
    for (const { resolve } of settled) resolve();
  }

  private ended(reason: string): void {
    if (this.over) return;
    this.over = true;
    this.settleChanges();
    if (this.ready < this.threads.length) this.settleStart?.reject(new Error(reason));
    else this.events.died(reason);
  }
}

/** Bytes read at once, between which this thread does other work. */
const BLOCK_BYTES = 4 * 1024 * 1024;

/** A file in memory of its own, which can be moved to another thread. Rejects with `E_MODEL_FILE`. */
async function readWhole(path: string): Promise<Uint8Array<ArrayBuffer>> {
  let file: FileHandle | null = null;
  try {
    file = await open(path);
    const { size } = await file.stat();
    const bytes = new Uint8Array(size);
    for (let at = 0; at < size; ) {
      const { bytesRead } = await file.read(bytes, at, Math.min(BLOCK_BYTES, size - at), at);
      if (bytesRead === 0) throw new Error('it has become shorter');
      at += bytesRead;
    }
    return bytes;
  } catch (error) {
    throw new EscapementError('E_MODEL_FILE', `cannot be read: ${(error as Error).message}`, { file: path });
  } finally {
    await file?.close();
  }
}
