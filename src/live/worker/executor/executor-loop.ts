import type { Time } from '../../../base/world/time.js';
import { Calendar } from '../../../core/calendar.js';
import { hasOneLane } from '../../device.js';
import type { ResultMessage } from '../../messages.js';
import type { WorkerModel } from '../../model.js';
import { buffersOf } from '../../parcel.js';
import type { Device } from './device.js';
import { GpuExecutor } from './gpu-executor.js';
import type { ExecutorOrder, ExecutorThreadData, GpuSpec, ThreadReport } from './protocol.js';

interface ExecutorLoopOptions {
  readonly data: Pick<ExecutorThreadData, 'gpus' | 'models' | 'pages'>;
  readonly time: Pick<Time, 'monotonicNs'>;
  /** `models`: by index, always current. */
  readonly createDevice: (gpu: GpuSpec, models: readonly (WorkerModel | null)[]) => Device;
  /** Next order; undefined: none at present. */
  readonly receive: () => ExecutorOrder | undefined;
  /** Its arrays are reused afterwards. */
  readonly report: (report: ThreadReport, transfer: readonly ArrayBuffer[]) => void;
}

/**
 * One GPU of onnxruntime, or all simulated GPUs of a machine: takes orders, starts due actions, reports ended ones. Its
 * thread calls `turn` again and again, and blocks in between.
 */
export class ExecutorLoop {
  private readonly gpus: readonly GpuExecutor[];
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
    const { receive, time } = this.options;
    for (let order = receive(); order !== undefined; order = receive()) this.take(order);
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
    this.options.report({ kind: 'results', results }, buffersOf(results.map(({ outputs }) => outputs)));
    results.length = 0;
  }

  private reportRunning(): void {
    const actions = this.gpus.flatMap(({ running }) =>
      running.map(({ gpu, kind, model }) => ({ gpu, kind, model })),
    );
    if (actions.length > 0) this.options.report({ kind: 'waits', actions }, []);
  }

  private reportQuiesced(nowNs: number): void {
    // Earlier results precede the report, so that they are not taken for new ones.
    this.reportResults();
    const present = this.gpus.map((gpu) => gpu.resume());
    for (; this.quiesces > 0; this.quiesces--) this.options.report({ kind: 'quiesced', present }, []);
    for (const row of this.gpus.keys()) this.turns.set(row, nowNs);
  }
}
