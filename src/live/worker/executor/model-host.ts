import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { monotonicNs } from '../../../base/clock/clock.js';
import { EscapementError } from '../../../base/errors.js';
import { invariant } from '../../../base/invariant.js';
import {
  INFER,
  LOAD,
  STATUS_DEVICE_ERROR,
  STATUS_INFER_TOO_LATE,
  STATUS_INVALID_INPUT,
  STATUS_LOAD_TOO_LATE,
  STATUS_OK,
} from '../../../core/action.js';
import type { OrtDeviceSpec } from '../../device.js';
import { bytesAtLength, lengthOfInputs } from '../../lengths.js';
import type { ModelSignature } from '../../model.js';
import { InputError, runtimeProblem } from '../../ort/runtime-problem.js';
import { ModelSession, type SessionRun } from '../../ort/session.js';
import { areApart, buffersOf, ExecLine, freeLarge, Signal } from '../../transfer.js';
import type {
  HostLine,
  HostMessage,
  HostModel,
  HostModelOrder,
  HostOrder,
  HostReply,
  HostReport,
  ThreadReport,
} from './protocol.js';

/**
 * Time for which the thread polls for the next INFER before it blocks, since it usually follows soon and waking takes
 * longer (measured gap between two INFERs of 50 µs: 20 µs instead of 52).
 */
const LOOK_OUT_NS = 100_000;

/**
 * Runs the executor thread's orders on a host, until it is stopped. An INFER precedes everything else.
 */
export class HostThread {
  private readonly port: MessagePort;
  private readonly exec: ExecLine;
  private readonly executor: Signal;
  /** INFERs by the id of their action, until they are requested. */
  private readonly staged = new Map<number, HostOrder>();
  /** LOADs and UNLOADs, in order of arrival. */
  private readonly orders: HostOrder[] = [];
  /** Changes of models. */
  private readonly changes: HostModelOrder[] = [];

  constructor(
    private readonly host: ModelHost,
    /** Raised when there is something to do. */
    private readonly signal: Signal,
    executor: HostLine,
    private readonly machine: MessagePort,
  ) {
    this.port = executor.port;
    this.exec = new ExecLine(executor.exec);
    this.executor = new Signal(executor.signal);
  }

  async run(): Promise<void> {
    const { signal } = this;
    let lookOutUntilNs = 0;
    while (!signal.stopped) {
      const { count } = signal;
      this.drain();
      // Afterwards, so that an UNLOAD sent after this INFER was requested does not precede it.
      const id = this.exec.asked;
      const order = this.orders[0];
      if (id >= 0) {
        await this.infer(id);
        lookOutUntilNs = monotonicNs() + LOOK_OUT_NS;
      } else if (order !== undefined) await this.perform(order);
      else if (this.changes.length > 0) await this.change(this.changes.shift() as HostModelOrder);
      else if (monotonicNs() < lookOutUntilNs) signal.wait(count, lookOutUntilNs);
      else signal.wait(count, Number.POSITIVE_INFINITY);
    }
  }

  private drain(): void {
    for (let next = receiveMessageOnPort(this.port); next !== undefined; ) {
      this.take(next.message);
      next = receiveMessageOnPort(this.port);
    }
    for (let next = receiveMessageOnPort(this.machine); next !== undefined; ) {
      this.changes.push(next.message);
      next = receiveMessageOnPort(this.machine);
    }
  }

  private take(message: HostMessage): void {
    const { staged } = this;
    if (message.kind === 'run') this.orders.push(message.order);
    else if (message.kind === 'stage') staged.set(message.order.id, message.order);
    else if (message.kind === 'discard') this.discard(message.id);
    else for (const id of [...staged.keys()]) if (id !== message.id) this.discard(id);
  }

  private discard(id: number): void {
    freeLarge(this.staged.get(id)?.inputs ?? []);
    this.staged.delete(id);
  }

  private async infer(id: number): Promise<void> {
    // It may have arrived since.
    if (!this.staged.has(id)) this.drain();
    const order = this.staged.get(id);
    invariant(order !== undefined, 'an INFER is staged before it is asked for');
    this.staged.delete(id);
    const report = await this.host.perform(order);
    invariant(report !== null, 'an INFER is reported');
    const { outputs, shapes, error, inputErrors } = report;
    // With the lane's end, so that the executor wakes once.
    this.post({ kind: 'tensors', id, outputs, shapes, error, inputErrors });
    this.exec.end(report);
    this.executor.raise();
    freeLarge(order.inputs);
  }

  private async perform(order: HostOrder): Promise<void> {
    this.orders.shift();
    const report = await this.host.perform(order);
    if (report === null) return;
    this.post({ kind: 'loaded', report });
    this.executor.raise();
  }

  private async change(order: HostModelOrder): Promise<void> {
    await this.host.change(order);
    this.machine.postMessage({ kind: 'model', index: order.index } satisfies ThreadReport);
  }

  private post(reply: HostReply): void {
    this.port.postMessage(reply, buffersOf([reply.kind === 'tensors' ? reply.outputs : []]));
  }
}

/** Runs the models of one host thread on their device, one order at a time. Times include copies of tensors. */
export class ModelHost {
  /** Sessions of the models that are loaded. */
  private readonly loaded = new Map<number, ModelSession>();

  constructor(
    private readonly device: OrtDeviceSpec,
    /** By index among the models of the machine. */
    private readonly models: Map<number, HostModel>,
  ) {}

  /**
   * Loads one model briefly: the provider initializes in this thread now rather than in the first LOAD, and a missing
   * device is detected. Throws `E_DEVICE`; other failures belong to the model, and to its LOADs.
   */
  async probe(): Promise<void> {
    const [first] = this.models.keys();
    if (first === undefined) return;
    try {
      await (await this.open(first)).release();
    } catch (error) {
      if (error instanceof EscapementError && error.code === 'E_DEVICE') throw error;
    }
  }

  /** Changes the model at the index; null: none. Resolves when the memory of its predecessor is free. */
  async change({ index, model }: HostModelOrder): Promise<void> {
    const before = this.models.get(index);
    this.models.delete(index);
    if (before !== undefined) {
      await this.unload(index);
      freeLarge([before.bytes]);
    }
    if (model !== null) this.models.set(index, model);
  }

  /** Never throws: errors of the device are in the report. Nothing is reported of an UNLOAD. */
  async perform(order: HostOrder): Promise<HostReport | null> {
    if (order.kind === LOAD) return this.load(order);
    if (order.kind === INFER) return this.infer(order);
    await this.unload(order.model);
    return null;
  }

  /** Throws like `ModelSession.create`. */
  private open(index: number): Promise<ModelSession> {
    const { model, bytes } = this.models.get(index) as HostModel;
    return ModelSession.create(bytes, model.signature, model.spec.batchSizes, this.device);
  }

  private async unload(model: number): Promise<void> {
    const session = this.loaded.get(model);
    this.loaded.delete(model);
    await session?.release().catch(() => {
      // The device could not free it properly, but it is not used again.
    });
  }

  private async load({ model, latestNs }: HostOrder): Promise<HostReport> {
    const beginNs = monotonicNs();
    if (beginNs > latestNs) return notRun(STATUS_LOAD_TOO_LATE, beginNs);
    try {
      await this.unload(model);
      this.loaded.set(model, await this.open(model));
      return done(beginNs, NO_TENSORS);
    } catch (error) {
      return failed(beginNs, error);
    }
  }

  private async infer(order: HostOrder): Promise<HostReport> {
    const { model, batchIndex, bucket, count, latestNs, inputs, shapes } = order;
    const beginNs = monotonicNs();
    if (beginNs > latestNs) return notRun(STATUS_INFER_TOO_LATE, beginNs);
    const session = this.loaded.get(model);
    try {
      invariant(session !== undefined, 'INFER runs on weights that are there');
      const { outputs } = (this.models.get(model) as HostModel).model.signature;
      const apart = areApart(outputs, count);
      return done(beginNs, await session.run(batchIndex, count, inputs, shapes, apart, bucket));
    } catch (error) {
      if (error instanceof InputError && session !== undefined)
        return this.inferApart(order, session, beginNs, error);
      return failed(beginNs, error);
    }
  }

  /** Runs each request alone, after they failed together: valid ones must not suffer from another. */
  private async inferApart(
    { model, bucket, count, inputs, shapes }: HostOrder,
    session: ModelSession,
    beginNs: number,
    { message }: InputError,
  ): Promise<HostReport> {
    if (count === 1) return notComputed(beginNs, [message]);
    const { signature } = (this.models.get(model) as HostModel).model;
    const runs: (SessionRun | null)[] = [];
    const inputErrors: string[] = [];
    for (let r = 0; r < count; r++) {
      const own = signature.inputs.map((_, i) => inputOf(inputs, signature.inputs.length, count, r, i));
      try {
        runs.push(await session.run(0, 1, own, shapes, false, bucket));
        inputErrors.push('');
      } catch (error) {
        if (!(error instanceof InputError)) return failed(beginNs, error);
        runs.push(null);
        inputErrors.push(error.message);
      }
    }
    if (inputErrors.every((error) => error !== '')) return notComputed(beginNs, inputErrors);
    const good = runs.find((run) => run !== null) ?? NO_TENSORS;
    const outputs = runs.flatMap(
      (run, r) => run?.outputs ?? emptyOutputs(signature, inputs, r * signature.inputs.length, good),
    );
    return { ...done(beginNs, { ...NO_TENSORS, ...good, outputs }), inputErrors };
  }
}

/** Tensors of a LOAD. */
const NO_TENSORS: SessionRun = { outputs: [], copyInNs: 0, copyOutNs: 0 };

function done(beginNs: number, run: SessionRun): HostReport {
  return { status: STATUS_OK, beginNs, endNs: monotonicNs(), ...run, error: '' };
}

function notRun(status: number, nowNs: number): HostReport {
  return { status, beginNs: nowNs, endNs: nowNs, ...NO_TENSORS, error: '' };
}

/** The device is fine, and nothing was computed. */
function notComputed(beginNs: number, inputErrors: readonly string[]): HostReport {
  return {
    status: STATUS_INVALID_INPUT,
    beginNs,
    endNs: monotonicNs(),
    ...NO_TENSORS,
    error: '',
    inputErrors,
  };
}

/** Outputs of one request, whose inputs begin at `from`, that could not be computed; `good`: those of another. */
function emptyOutputs(
  signature: ModelSignature,
  inputs: readonly Uint8Array[],
  from: number,
  good: SessionRun,
): Uint8Array<ArrayBuffer>[] {
  if (signature.lengths === undefined) return good.outputs.map(({ length }) => new Uint8Array(length));
  const length = lengthOfInputs(signature, inputs, from);
  return signature.outputs.map((output) => new Uint8Array(bytesAtLength(output, length)));
}

/** Input number `i` of request number `r`, in either form that inputs have. */
function inputOf(
  inputs: readonly Uint8Array[],
  each: number,
  count: number,
  r: number,
  i: number,
): Uint8Array {
  if (inputs.length > each) return inputs[r * each + i];
  const bytes = inputs[i].length / count;
  return inputs[i].subarray(r * bytes, (r + 1) * bytes);
}

function failed(beginNs: number, error: unknown): HostReport {
  const { what } = runtimeProblem(error);
  return { status: STATUS_DEVICE_ERROR, beginNs, endNs: monotonicNs(), ...NO_TENSORS, error: what };
}
