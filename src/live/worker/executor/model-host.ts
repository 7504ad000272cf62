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
import { InputError } from '../../ort/input-error.js';
import { runtimeProblem } from '../../ort/runtime-problem.js';
import { ModelSession, type SessionRun } from '../../ort/session.js';
import { Signal } from '../../signal.js';
import { areApart, buffersOf, freeLarge } from '../../transfer.js';
import type { InferLog, OperatorRecorder } from './operator-recorder.js';
import {
  ExecLine,
  type HostLine,
  type HostMessage,
  type HostModel,
  type HostModelOrder,
  type HostOrder,
  type HostReply,
  type HostReport,
  type ThreadReport,
} from './protocol.js';

/**
 * Time for which the thread polls for the next INFER before it blocks, since it usually follows soon and waking takes
 * longer (measured gap between two INFERs of 50 µs: 20 µs instead of 52).
 */
const LOOK_OUT_NS = 100_000;

/** Multiple of an upkeep step's duration for which INFERs without idle moments run before the next step. */
const PAUSE_AFTER_UPKEEP = 3;

/**
 * Runs the executor thread's orders on a host, until it is stopped. An INFER precedes everything else; upkeep of the
 * sessions is left to idle moments.
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
  /** Earliest time at which upkeep may delay an INFER again. */
  private upkeepFromNs = 0;

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
    const { host, signal } = this;
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
        // Without an idle moment its turn would never come.
        if (host.hasUpkeep && lookOutUntilNs > this.upkeepFromNs) await this.upkeep();
      } else if (order !== undefined) await this.perform(order);
      else if (this.changes.length > 0) await this.change(this.changes.shift() as HostModelOrder);
      else if (monotonicNs() < lookOutUntilNs) signal.wait(count, lookOutUntilNs);
      else if (this.staged.size === 0 && host.hasUpkeep) await this.upkeep();
      else signal.wait(count, Number.POSITIVE_INFINITY);
    }
  }

  private async upkeep(): Promise<void> {
    const beginNs = monotonicNs();
    await this.host.upkeep();
    const endNs = monotonicNs();
    this.upkeepFromNs = endNs + PAUSE_AFTER_UPKEEP * (endNs - beginNs);
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
  private readonly sessions: HostSessions;

  constructor(
    device: OrtDeviceSpec,
    /** By index among the models of the machine. */
    private readonly models: Map<number, HostModel>,
    private readonly recorder: OperatorRecorder,
  ) {
    this.sessions = new HostSessions(device, models, recorder);
  }

  /**
   * Loads one model briefly: the provider initializes in this thread now rather than in the first LOAD, and a missing
   * device is detected. Throws `E_DEVICE`; other failures belong to the model, and to its LOADs.
   */
  async probe(): Promise<void> {
    const [first] = this.models.keys();
    if (first === undefined) return;
    try {
      await this.sessions.close(await this.sessions.open(first));
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

  /** True if there is upkeep to do when idle: `upkeep` does one step of it, taking some ms. */
  get hasUpkeep(): boolean {
    return this.sessions.hasUpkeep;
  }

  upkeep(): Promise<void> {
    return this.sessions.upkeep();
  }

  private async unload(model: number): Promise<void> {
    await this.sessions.unload(model).catch(() => {
      // The device could not free it properly, but it is not used again.
    });
  }

  private async load({ model, latestNs }: HostOrder): Promise<HostReport> {
    const beginNs = monotonicNs();
    if (beginNs > latestNs) return notRun(STATUS_LOAD_TOO_LATE, beginNs);
    try {
      await this.sessions.load(model);
      return done(beginNs, NO_TENSORS);
    } catch (error) {
      return failed(beginNs, error);
    }
  }

  private async infer(order: HostOrder): Promise<HostReport> {
    const { id, model, batchIndex, bucket, count, latestNs, inputs, shapes } = order;
    const beginNs = monotonicNs();
    if (beginNs > latestNs) return notRun(STATUS_INFER_TOO_LATE, beginNs);
    const loaded = this.sessions.get(model);
    try {
      invariant(loaded !== undefined, 'INFER runs on weights that are there');
      const { outputs } = (this.models.get(model) as HostModel).model.signature;
      const apart = areApart(outputs, count);
      const run = await loaded.session.run(batchIndex, count, inputs, shapes, apart, bucket);
      const report = done(beginNs, run);
      this.recorder.ran(loaded.log, id, report);
      return report;
    } catch (error) {
      if (loaded?.log) loaded.log.broken = true;
      if (error instanceof InputError && loaded !== undefined)
        return this.inferApart(order, loaded.session, beginNs, error);
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

/** A model on the device. */
interface LoadedModel {
  readonly session: ModelSession;
  /** Null: its operators are not recorded. */
  log: InferLog | null;
  /** True if it could not be reopened. */
  isStuck: boolean;
}

/**
 * Sessions of one host thread, recorded or not. A session that exists when a recording begins is replaced by a recorded
 * one, and that in turn when its log is long enough. If `hasUpkeep`, call `upkeep` when idle: it does one step of that,
 * taking some ms.
 */
class HostSessions {
  private readonly loaded = new Map<number, LoadedModel>();
  /** Replaced session, to be closed. */
  private replaced: LoadedModel | null = null;

  constructor(
    private readonly device: OrtDeviceSpec,
    /** By index among the models of the machine. */
    private readonly models: ReadonlyMap<number, HostModel>,
    private readonly recorder: OperatorRecorder,
  ) {}

  get(model: number): LoadedModel | undefined {
    return this.loaded.get(model);
  }

  /** Throws like `ModelSession.create`. */
  async open(index: number): Promise<LoadedModel> {
    const { model, bytes } = this.models.get(index) as HostModel;
    const log = this.recorder.newLog();
    const { signature, spec } = model;
    const session = await ModelSession.create(bytes, signature, spec.batchSizes, this.device, log?.prefix);
    return { session, log, isStuck: false };
  }

  async load(model: number): Promise<void> {
    await this.unload(model);
    this.loaded.set(model, await this.open(model));
  }

  async unload(model: number): Promise<void> {
    const held = this.loaded.get(model);
    this.loaded.delete(model);
    if (held !== undefined) await this.close(held);
  }

  async close({ session, log }: LoadedModel): Promise<void> {
    if (log !== null) this.recorder.end(session, log);
    await session.release();
  }

  get hasUpkeep(): boolean {
    const { recorder } = this;
    return this.replaced !== null || recorder.isBehind || (recorder.isOn && this.oldModel() >= 0);
  }

  /** Never throws. */
  async upkeep(): Promise<void> {
    const { replaced } = this;
    if (replaced?.log) this.endLog(replaced);
    else if (replaced !== null) {
      this.replaced = null;
      await replaced.session.release().catch(() => {});
    } else if (this.recorder.isBehind) {
      const recorded = this.recorded();
      if (recorded === undefined) this.recorder.follow();
      else this.endLog(recorded);
    } else await this.renew(this.oldModel());
  }

  private async renew(model: number): Promise<void> {
    const held = this.loaded.get(model);
    if (held === undefined) return;
    try {
      // The new one first: if memory does not suffice, the old one must still exist.
      this.loaded.set(model, await this.open(model));
      this.replaced = held;
    } catch {
      held.isStuck = true;
      if (held.log !== null) this.endLog(held);
    }
  }

  private endLog(held: LoadedModel): void {
    if (held.log !== null) this.recorder.end(held.session, held.log);
    held.log = null;
  }

  /** A model whose session should be replaced, or −1. */
  private oldModel(): number {
    for (const [model, { log, isStuck }] of this.loaded)
      if (!isStuck && this.recorder.isOld(log)) return model;
    return -1;
  }

  private recorded(): LoadedModel | undefined {
    for (const held of this.loaded.values()) if (held.log !== null) return held;
    return undefined;
  }
}
