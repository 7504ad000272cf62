// Entry of an executor thread.
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { monotonicNs } from '../../../base/clock/clock.js';
import { invariant } from '../../../base/invariant.js';
import { Calendar } from '../../../core/calendar.js';
import { hasOneLane } from '../../device.js';
import type { ResultMessage } from '../../messages.js';
import type { WorkerModel } from '../../model.js';
import { Signal } from '../../signal.js';
import { passOnWarnings } from '../../warnings.js';
import { GpuExecutor } from './gpu-executor.js';
import { OrtDevice } from './ort-device.js';
import type { ExecutorOrder, ExecutorThreadData, ThreadReport } from './protocol.js';
import { SimulatedDevice } from './simulated-device.js';
import { buffersOf } from './transfer.js';

interface ExecutorThreadOptions {
  /** By index among the GPUs of the machine. */
  readonly gpus: ReadonlyMap<number, GpuExecutor>;
  /** By index: what `gpus` run. */
  readonly models: (WorkerModel | null)[];
  /** Where `gpus` put their results; the loop empties it. */
  readonly results: ResultMessage[];
  /** Raised when there is something to receive or to collect. */
  readonly signal: Signal;
  /** The next order; undefined: none at present. */
  readonly receive: () => ExecutorOrder | undefined;
  readonly report: (report: ThreadReport, transfer: readonly ArrayBuffer[]) => void;
}

/**
 * Runs one GPU of onnxruntime, or all simulated GPUs of a machine, until the thread is asked to stop: takes orders, starts
 * what is due, reports what has ended, then blocks until there is more.
 */
class ExecutorThread {
  private readonly gpus: readonly GpuExecutor[];
  /** By index among the GPUs of the machine: the index in `gpus`. */
  private readonly rows: ReadonlyMap<number, number>;
  /** When each of `gpus` wants its next turn. */
  private readonly turns: Calendar;
  private readonly signalling: readonly number[];
  /** How often it was asked to quiesce, and has not answered. */
  private quiesces = 0;

  constructor(private readonly options: ExecutorThreadOptions) {
    this.gpus = [...options.gpus.values()];
    this.rows = new Map([...options.gpus.keys()].map((gpu, row) => [gpu, row]));
    this.turns = new Calendar(this.gpus.length);
    this.signalling = [...this.gpus.keys()].filter((row) => this.gpus[row].signals);
  }

  run(): void {
    const { signal } = this.options;
    while (!signal.stopped) {
      const { count } = signal;
      signal.wait(count, this.turn());
    }
  }

  /** Does all that is due. Returns when there will be more if no signal comes before. */
  private turn(): number {
    const { receive } = this.options;
    for (let order = receive(); order !== undefined; order = receive()) this.take(order);
    const nowNs = monotonicNs();
    for (const row of this.signalling) this.turns.set(row, nowNs);
    this.runDue(nowNs);
    if (this.quiesces > 0 && !this.gpus.some(({ busy }) => busy)) {
      this.reportQuiesced(nowNs);
      this.runDue(nowNs);
    }
    this.reportResults();
    return this.turns.nextNs;
  }

  private take(order: ExecutorOrder): void {
    if (order.kind === 'quiesce') {
      this.quiesces++;
      for (const gpu of this.gpus) gpu.pause();
      return;
    }
    if (order.kind === 'model') {
      this.options.models[order.index] = order.model;
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
    const { results, report } = this.options;
    if (results.length === 0) return;
    report(
      { kind: 'results', results },
      buffersOf(results.flatMap(({ outputs, inputs = [] }) => [outputs, inputs])),
    );
    results.length = 0;
  }

  private reportQuiesced(nowNs: number): void {
    // Results of before come before the report: so they are not taken for new ones.
    this.reportResults();
    const present = this.gpus.map((gpu) => gpu.resume());
    for (; this.quiesces > 0; this.quiesces--) this.options.report({ kind: 'quiesced', present }, []);
    for (const row of this.gpus.keys()) this.turns.set(row, nowNs);
  }
}

passOnWarnings('executor');
const machine = parentPort;
invariant(machine !== null, 'this file is the entry of a thread');
const { signal, gpus, pages, hosts, ...data } = workerData as ExecutorThreadData;
const models = [...data.models];
const results: ResultMessage[] = [];

const thread = new ExecutorThread({
  gpus: new Map(
    gpus.map(({ gpu, device: spec }) => {
      const device = spec.kind === 'simulated' ? new SimulatedDevice(spec, models) : new OrtDevice(hosts);
      const oneLane = hasOneLane(spec);
      const sendResult = (result: ResultMessage) => results.push(result);
      return [gpu, new GpuExecutor({ models, pages, oneLane, device, sendResult })];
    }),
  ),
  models,
  results,
  signal: new Signal(signal),
  receive: () => receiveMessageOnPort(machine)?.message,
  report: (report, transfer) => machine.postMessage(report, transfer),
});

machine.postMessage({ kind: 'ready' } satisfies ThreadReport);
thread.run();
