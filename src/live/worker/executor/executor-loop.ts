import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { invariant } from '../../../base/invariant.js';
import type { Time } from '../../../base/world/time.js';
import { Action, LANE_EXEC, LANE_WEIGHTS, STATUS_OK, UNLOAD } from '../../../core/action.js';
import { Calendar } from '../../../core/calendar.js';
import type { DevicePort } from '../../../core/device-port.js';
import { NO_MODEL } from '../../../core/model.js';
import { Worker } from '../../../core/worker.js';
import { type DeviceMemory, hasOneLane } from '../../device.js';
import type { ActionMessage, ResultMessage } from '../../messages.js';
import type { Shape, WorkerModel } from '../../model.js';
import { buffersOf, type ExecEnd, ExecLine, freeLarge, Signal } from '../../transfer.js';
import type {
  ExecutorOrder,
  ExecutorThreadData,
  GpuMemory,
  GpuSpec,
  HostLine,
  HostMessage,
  HostOrder,
  HostReply,
  HostReport,
  ThreadReport,
} from './protocol.js';

interface ExecutorLoopOptions {
  readonly data: Pick<ExecutorThreadData, 'gpus' | 'models' | 'pages'>;
  readonly time: Pick<Time, 'monotonicNs'>;
  /** `models`: by index, always current. */
  readonly createDevice: (gpu: GpuSpec, models: readonly (WorkerModel | null)[]) => Device;
  /** Port of the machine. Arrays of what is posted are reused afterwards. */
  readonly port: MessagePort;
  /** Next order on the port; undefined: none at present. */
  readonly receive: (port: MessagePort) => { readonly message: ExecutorOrder } | undefined;
}

/**
 * One GPU of onnxruntime, or all simulated GPUs of a machine: takes orders, starts due actions, reports ended ones. Its
 * thread calls `turn` again and again, and blocks in between.
 */
export class ExecutorLoop {
  private readonly gpus: GpuExecutor[];
  /** By index: models of `gpus`. */
  private readonly models: (WorkerModel | null)[];
  /** Results of this turn. */
  private readonly results: ResultMessage[] = [];
  /** By GPU index in the machine: index in `gpus`. */
  private readonly rows: ReadonlyMap<number, number>;
  /** By index in `gpus`: time of its next turn. */
  private readonly turns: Calendar;
  private readonly signalling: readonly number[];
  /** Number of unanswered requests to quiesce. */
  private quiesces = 0;

  constructor(private readonly options: ExecutorLoopOptions) {
    const { gpus, models, pages } = options.data;
    this.models = [...models];
    this.gpus = gpus.map((spec) => this.createGpu(spec, pages));
    this.rows = new Map(gpus.map(({ gpu }, row) => [gpu, row]));
    this.turns = new Calendar(gpus.length);
    this.signalling = [...this.gpus.keys()].filter((row) => this.gpus[row].signals);
  }

  /** Does everything due. Returns the time of the next turn if no signal comes before. */
  turn(): number {
    const { port, receive, time } = this.options;
    for (let next = receive(port); next !== undefined; next = receive(port)) this.take(next.message);
    const nowNs = time.monotonicNs();
    for (const row of this.signalling) this.turns.set(row, nowNs);
    this.runDue(nowNs);
    if (this.quiesces > 0 && !this.gpus.some(({ busy }) => busy)) {
      this.reportQuiesced(nowNs);
      this.runDue(nowNs);
    }
    this.reportResults();
    return this.turns.nextNs;
  }

  private createGpu(spec: GpuSpec, pages: number): GpuExecutor {
    const { models, results } = this;
    const device = this.options.createDevice(spec, models);
    const sendResult = (result: ResultMessage) => results.push(result);
    return new GpuExecutor({ models, pages, oneLane: hasOneLane(spec.device), device, sendResult });
  }

  private take(order: ExecutorOrder): void {
    if (order.kind === 'quiesce') {
      this.quiesces++;
      for (const gpu of this.gpus) gpu.pause();
      this.reportRunning();
      return;
    }
    if (order.kind === 'memory') {
      this.report({ kind: 'memory', gpus: this.gpus.map(({ memory }) => memory) });
      return;
    }
    if (order.kind === 'model') {
      this.models[order.index] = order.model;
      for (const gpu of this.gpus) gpu.modelChanged(order.index);
      return;
    }
    for (const action of order.actions) {
      const row = this.rows.get(action.gpu) as number;
      this.gpus[row].receive(action);
      this.turns.set(row, 0);
    }
  }

  private runDue(nowNs: number): void {
    const { turns, gpus } = this;
    for (let row = turns.due(nowNs); row >= 0; row = turns.due(nowNs)) turns.set(row, gpus[row].turn(nowNs));
  }

  private reportResults(): void {
    const { results } = this;
    if (results.length === 0) return;
    this.report({ kind: 'results', results }, buffersOf(results.map(({ outputs }) => outputs)));
    results.length = 0;
  }

  private reportRunning(): void {
    const actions = this.gpus.flatMap(({ running }) =>
      running.map(({ gpu, kind, model }) => ({ gpu, kind, model })),
    );
    if (actions.length > 0) this.report({ kind: 'waits', actions });
  }

  private reportQuiesced(nowNs: number): void {
    // Earlier results precede the report, so that they are not taken for new ones.
    this.reportResults();
    const present = this.gpus.map((gpu) => gpu.resume());
    for (; this.quiesces > 0; this.quiesces--) this.report({ kind: 'quiesced', present });
    for (const row of this.gpus.keys()) this.turns.set(row, nowNs);
  }

  private report(report: ThreadReport, transfer: readonly ArrayBuffer[] = []): void {
    this.options.port.postMessage(report, transfer);
  }
}

interface GpuExecutorOptions {
  /** By index; null: none. Its owner may change it, and reports that. */
  readonly models: readonly (WorkerModel | null)[];
  /** Pages of this GPU's weights cache. */
  readonly pages: number;
  readonly oneLane: boolean;
  readonly device: Device;
  readonly sendResult: (result: ResultMessage) => void;
}

/** One GPU: the worker that enforces its windows, and the device that runs its actions. */
export class GpuExecutor {
  private readonly worker: Worker;
  private readonly models: readonly (WorkerModel | null)[];
  private readonly device: Device;
  private readonly pages: number;
  private paused = false;

  constructor({ models, pages, oneLane, device, sendResult }: GpuExecutorOptions) {
    this.models = models;
    this.device = device;
    this.pages = pages;
    this.worker = new Worker({
      models: models.map((model) => model?.spec ?? NO_MODEL),
      pages,
      oneLane,
      device,
      sendResult: (action) => {
        const live = action as LiveAction;
        sendResult(live.toResult());
        if (live.staged) device.discard(live);
        else freeLarge(live.inputs);
      },
    });
  }

  /** True if the device raises the thread's signal: `turn` is due whenever the thread wakes. */
  get signals(): boolean {
    return this.device.signals;
  }

  get busy(): boolean {
    return this.device.busy;
  }

  /** Actions in progress on the device. */
  get running(): readonly Action[] {
    return this.worker.running;
  }

  get memory(): GpuMemory {
    return { usedPages: this.pages - this.worker.freePages, device: this.device.memory };
  }

  /** Call when the model at the index has changed. */
  modelChanged(index: number): void {
    this.worker.putModel(index, this.models[index]?.spec ?? NO_MODEL);
  }

  /** Call `turn` afterwards. */
  receive(message: ActionMessage): void {
    this.worker.receive(new LiveAction(message), message.earliestNs, message.latestNs);
  }

  /** Processes ended actions and starts due ones. Returns the latest time of the next call. */
  turn(nowNs: number): number {
    const { worker, device } = this;
    device.collect(worker, nowNs);
    if (this.paused) return device.nextEndNs;
    worker.step(nowNs);
    return Math.min(device.nextEndNs, worker.nextWakeNs());
  }

  /** Drops waiting actions, and starts nothing until `resume`. */
  pause(): void {
    this.worker.dropWaiting();
    this.device.discardWaiting();
    this.paused = true;
  }

  /** Returns the models whose weights are present. Call `turn` afterwards. */
  resume(): number[] {
    this.paused = false;
    return [...this.models.keys()].filter((model) => this.worker.isPresent(model));
  }
}

/**
 * A GPU on which onnxruntime runs the models. Its calls block, so they are left to host threads; each model lives in
 * one of them for good, since a session belongs to the thread that created it. INPUT and OUTPUT are the transfers of
 * tensors to that thread and back: they overlap EXEC.
 */
export class OrtDevice implements Device {
  readonly copies = true;
  readonly signals = true;
  readonly memory = null;
  private readonly hosts: readonly Host[];
  private copyingIn = false;
  private executing: LiveAction | null = null;
  private loading: LiveAction | null = null;
  /** True while an executed action waits to be answered. */
  private delivering = false;

  constructor(hosts: readonly HostLine[]) {
    this.hosts = hosts.map(({ port, exec, signal }) => ({
      port,
      exec: new ExecLine(exec),
      signal: new Signal(signal),
      replies: 0,
    }));
  }

  /** Inputs are transferred as soon as they are sent. */
  get nextEndNs(): number {
    return this.copyingIn ? 0 : Number.POSITIVE_INFINITY;
  }

  get busy(): boolean {
    return this.executing !== null || this.loading !== null;
  }

  startInput(action: LiveAction): void {
    action.staged = true;
    this.copyingIn = true;
    post(this.homeOf(action.model), { kind: 'stage', order: orderOf(action) });
    action.inputs = [];
  }

  startExec(action: LiveAction): void {
    action.staged = false;
    this.executing = action;
    const home = this.homeOf(action.model);
    home.replies++;
    home.exec.ask(action.id);
    home.signal.raise();
  }

  /** Outputs come with the end of their EXEC. */
  startOutput(): void {
    this.delivering = true;
  }

  startLoad(action: LiveAction): void {
    this.loading = action;
    this.homeOf(action.model).replies++;
    post(this.homeOf(action.model), { kind: 'run', order: orderOf(action) });
  }

  unload(model: number): void {
    const none = { id: -1, batchIndex: 0, count: 0, latestNs: Number.POSITIVE_INFINITY, inputs: [] };
    post(this.homeOf(model), { kind: 'run', order: { kind: UNLOAD, model, ...none } });
  }

  discard({ model, id }: LiveAction): void {
    post(this.homeOf(model), { kind: 'discard', id });
  }

  discardWaiting(): void {
    const id = this.executing?.id ?? -1;
    for (const host of this.hosts) post(host, { kind: 'discardOthers', id });
  }

  collect(worker: Worker, nowNs: number): void {
    if (this.copyingIn) {
      this.copyingIn = false;
      worker.copiedIn();
    }
    // Before the messages: outputs precede the end that they belong to.
    const end = this.executing === null ? null : this.homeOf(this.executing.model).exec.takeEnd();
    for (const host of this.hosts) if (host.replies > 0) this.drain(host, worker);
    if (end !== null) this.ended(end, worker);
    if (this.delivering) {
      this.delivering = false;
      worker.copiedOut(nowNs);
    }
  }

  private ended({ status, beginNs, endNs, copyInNs, copyOutNs }: ExecEnd, worker: Worker): void {
    const action = this.executing;
    invariant(action !== null, 'EXEC ends once');
    this.executing = null;
    action.beginNs = beginNs;
    action.copyInNs = copyInNs;
    action.copyOutNs = copyOutNs;
    worker.finished(LANE_EXEC, endNs, 1, status);
  }

  private drain(host: Host, worker: Worker): void {
    for (let next = receiveMessageOnPort(host.port); next !== undefined; ) {
      host.replies--;
      this.take(next.message, worker);
      next = receiveMessageOnPort(host.port);
    }
  }

  private take(reply: HostReply, worker: Worker): void {
    if (reply.kind === 'loaded') this.loaded(reply.report, worker);
    else {
      const action = this.executing;
      invariant(action?.id === reply.id, 'outputs come once, with the end of their EXEC');
      action.outputs = reply.outputs;
      action.outputShapes = reply.shapes;
      action.error = reply.error;
      action.inputErrors = reply.inputErrors;
    }
  }

  private loaded({ status, beginNs, endNs, error }: HostReport, worker: Worker): void {
    const action = this.loading;
    invariant(action !== null, 'LOAD ends once');
    this.loading = null;
    action.beginNs = beginNs;
    action.error = error;
    worker.finished(LANE_WEIGHTS, endNs, 1, status);
  }

  private homeOf(model: number): Host {
    return this.hosts[model % this.hosts.length];
  }
}

interface Host {
  readonly port: MessagePort;
  readonly exec: ExecLine;
  readonly signal: Signal;
  /** Number of outstanding replies. */
  replies: number;
}

function orderOf(action: LiveAction): HostOrder {
  const { id, kind, model, batchIndex, bucket, count, latestNs, inputs, shapes } = action;
  return { id, kind, model, batchIndex, bucket, count, latestNs, inputs, shapes };
}

function post({ port, signal }: Host, message: HostMessage): void {
  port.postMessage(message, buffersOf([message.kind === 'stage' ? message.order.inputs : []]));
  signal.raise();
}

/** An action as run by an executor: with its tensors, and its errors. */
export class LiveAction extends Action {
  /** Empty once they are with the thread that runs it. */
  inputs: readonly Uint8Array[];
  /** Shapes of the inputs; see the message. */
  readonly shapes: readonly Shape[] | undefined;
  copyInNs = 0;
  copyOutNs = 0;
  outputs: readonly Uint8Array<ArrayBuffer>[] = [];
  outputShapes: readonly Shape[] | undefined;
  error = '';
  inputErrors: ResultMessage['inputErrors'];
  /** True if its inputs are with the thread that runs it, and still unused. */
  staged = false;

  constructor(message: ActionMessage) {
    // Only the controller knows its requests.
    super(0);
    this.id = message.id;
    this.kind = message.kind;
    this.gpu = message.gpu;
    this.model = message.model;
    this.batchIndex = message.batchIndex;
    this.bucket = message.bucket ?? 0;
    this.count = message.count;
    this.earliestNs = message.earliestNs;
    this.latestNs = message.latestNs;
    this.inputs = message.inputs;
    this.shapes = message.shapes;
  }

  toResult(): ResultMessage {
    const { id, gpu, status, beginNs, endNs, copyInNs, copyOutNs, error, inputErrors } = this;
    // A successful run is void if its weights were dropped meanwhile.
    const outputs = status === STATUS_OK ? this.outputs : [];
    const shapes = this.outputShapes;
    const times = { beginNs, endNs, copyInNs, copyOutNs };
    return { id, gpu, status, ...times, outputs, shapes, error, inputErrors };
  }
}

/** A GPU as driven by the loop of its executor thread. */
export interface Device extends DevicePort {
  /**
   * True if it raises the thread's signal when something has ended, so that it is asked whenever the thread wakes;
   * false if it knows that time in advance.
   */
  readonly signals: boolean;
  /** Next end of a running action; Infinity: nothing runs, or it raises the signal. */
  readonly nextEndNs: number;
  /** True while something runs. */
  readonly busy: boolean;
  /** Null: others are to be asked, if anybody knows. */
  readonly memory: DeviceMemory | null;
  startInput(action: LiveAction, nowNs: number): void;
  startExec(action: LiveAction, nowNs: number): void;
  startOutput(action: LiveAction, nowNs: number): void;
  startLoad(action: LiveAction, nowNs: number): void;
  /** Drops a staged action, which is answered without having run. */
  discard(action: LiveAction): void;
  /** Drops all actions that do not run yet. */
  discardWaiting(): void;
  /** Reports ended actions to the worker; their outputs and errors are in them by then. */
  collect(worker: Worker, nowNs: number): void;
}
