import { NS_PER_MS } from '../../../base/units.js';
import { INFER, STATUS_DEVICE_ERROR, STATUS_OK } from '../../../core/action.js';
import { isStatus } from '../../../core/status-names.js';
import { bytesAtLength, lengthOfInputs } from '../../lengths.js';
import {
  type ActionMessage,
  DROPPED,
  type ResultMessage,
  type WorkerDescription,
  type WorkerState,
} from '../../messages.js';
import { bytesOfShape, hasFreeSizes, type ModelSignature, type ServedModel } from '../../model.js';
import type { ModelList, ModelReference } from '../../model-list.js';
import { ENVELOPE_BYTES, tensorBytes } from '../../wire/chunks.js';
import { SERVED_MODEL, stateOf } from '../../wire/description.js';
import { checked } from '../../wire/framing.js';
import {
  type Answer,
  type ControllerMessage,
  modelListFromWire,
  type Question,
  type Welcome,
  type WorkerMessage,
} from '../../wire/protocol.js';
import type { MachineEvents } from '../../worker/machine.js';
import { InFlight } from '../in-flight.js';
import type { ClockSync } from './clock-sync.js';
import type { DrivenMachine } from './worker-link.js';

interface RemoteMachineOptions {
  /** Estimate of the machine's clock. */
  readonly clock: ClockSync;
  /** Clock of the controller. */
  readonly nowNs: () => number;
  readonly write: (message: ControllerMessage) => void;
}

/** Sent action that a result is checked against. */
interface Sent extends Pick<ActionMessage, 'id' | 'gpu' | 'kind' | 'model' | 'count'> {
  readonly keep: readonly number[];
  /** Lengths of its requests, if the model takes several; empty otherwise. */
  readonly lengths: readonly number[];
  readonly sentNs: number;
}

interface Asked {
  /** Throws `Error` if the question has no such answer. */
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/**
 * A remote machine at the other end of a stream, and the border at which what its messages mean is checked: `receive`
 * throws `Error` with words that follow "the worker" if it is not to be trusted. Calls made after the stream has ended
 * are never answered.
 */
export class RemoteMachine implements DrivenMachine {
  private events: MachineEvents | null = null;
  /** Number of questions so far, and unanswered ones by number. */
  private questions = 0;
  private readonly asked = new Map<number, Asked>();
  readonly description: WorkerDescription;
  /** Largest message that the worker accepts. */
  private readonly maxMessageBytes: number;
  private readonly write: (message: ControllerMessage) => void;
  /** Models by index, as far as this controller asked for them. */
  private readonly models: (ServedModel | null)[];
  private sent = new InFlight<Sent>();

  constructor(
    { description, maxMessageBytes }: Welcome,
    private readonly options: RemoteMachineOptions,
  ) {
    this.write = options.write;
    this.maxMessageBytes = maxMessageBytes;
    this.description = description;
    this.models = [...description.models];
  }

  attach(events: MachineEvents): void {
    this.events = events;
  }

  submit(actions: readonly ActionMessage[]): void {
    const mostBytes = this.maxMessageBytes - ENVELOPE_BYTES;
    const fits = (action: ActionMessage) => inputBytes(action) <= mostBytes;
    const fitting = actions.every(fits) ? actions : actions.filter(fits);
    const excessive = fitting === actions ? [] : actions.filter((action) => !fits(action));
    const sentNs = this.machineNs();
    for (const action of fitting) this.noteSent(action, sentNs);
    if (fitting.length > 0) this.write({ body: 'actions', actions: fitting });
    if (excessive.length > 0) this.events?.results(excessive.map((action) => tooLarge(action, mostBytes)));
  }

  forget(keys: readonly number[]): void {
    this.write({ body: 'forget', keys });
  }

  async quiesce(): Promise<WorkerState> {
    const state = await this.ask({ what: 'quiesce' }, (answer) => stateOf(answer, this.description));
    this.sent = new InFlight();
    return state;
  }

  listModels(name: string | null, config?: string): Promise<ModelList> {
    return this.ask({ what: 'listModels', name, config }, modelListFromWire);
  }

  async addModel(index: number, reference: ModelReference): Promise<ServedModel | null> {
    const served = await this.ask({ what: 'changeModel', index, reference }, (answer) =>
      answer === null ? null : checked(SERVED_MODEL, answer),
    );
    while (this.models.length < index) this.models.push(null);
    this.models[index] = served;
    return served;
  }

  dropModel(index: number): Promise<void> {
    return this.ask({ what: 'changeModel', index, reference: null }, () => {});
  }

  receive(message: WorkerMessage): void {
    if (message.body === 'results') this.results(message.results);
    else if (message.body === 'gpuDown') this.gpuDown(message.gpu, message.reason);
    else if (message.body === 'answer') this.answered(message.id, message.value, message.error);
  }

  private answered(id: number, value: Answer, error: string): void {
    const asked = this.asked.get(id);
    this.asked.delete(id);
    try {
      if (error === '') asked?.resolve(value);
      else asked?.reject(new Error(error));
    } catch (mistake) {
      throw new Error(`gives a wrong answer: ${(mistake as Error).message}`);
    }
  }

  private results(results: readonly ResultMessage[]): void {
    const nowNs = this.machineNs();
    const errorNs = this.options.clock.errorNs(this.options.nowNs());
    // Those without an id are of no use.
    const all = results.filter(({ id }) => id >= 0).map((result) => this.possible(result, nowNs, errorNs));
    if (all.length > 0) this.events?.results(all);
  }

  private noteSent({ id, gpu, kind, model, count, keep = [], inputs }: ActionMessage, sentNs: number): void {
    if (id < 0) return;
    const signature = this.models[model]?.signature;
    const lengths = signature?.lengths === undefined || kind !== INFER ? NONE : lengthsOf(signature, inputs);
    this.sent.add({ id, gpu, kind, model, count, keep, lengths, sentNs });
  }

  /**
   * Returns the result with its times limited to what is possible, if the worker's clock is off by at most `errorNs`.
   * Throws `Error` if it belongs to no action. Impossible outputs are a failure of the device. So no result stops the controller,
   * reaches a client with the wrong size, or teaches the scheduler an impossible duration.
   */
  private possible(result: ResultMessage, nowNs: number, errorNs: number): ResultMessage {
    const { id, gpu, status } = result;
    const sent = this.sent.take(gpu, id);
    if (sent === null) throw new Error(`answers action ${id} on GPU ${gpu}, which has none of that number`);
    if (!isStatus(status)) throw new Error(`answers with the unknown status ${status}`);
    const isInfer = sent.kind === INFER;
    const problem = status === STATUS_OK && isInfer ? this.outputProblem(result, sent) : '';
    const hasErrors = problem === '' && isInfer && result.inputErrors?.length === sent.count;
    return {
      ...result,
      ...possibleTimes(result, sent.sentNs - errorNs - TOLERANCE_NS, nowNs),
      inputErrors: hasErrors ? result.inputErrors : undefined,
      ...(status === STATUS_OK && isInfer && problem === '' ? {} : NO_OUTPUTS),
      ...(problem === '' ? {} : { status: STATUS_DEVICE_ERROR, error: problem }),
    };
  }

  private outputProblem({ outputs, shapes, kept = [] }: ResultMessage, sent: Sent): string {
    const { model, count, keep, lengths } = sent;
    if (kept.some((key) => !keep.includes(key))) return 'the worker keeps what it was not asked to';
    const found = this.models[model];
    if (found === null || found === undefined) return 'the worker has no such model';
    const { spec, signature } = found;
    const wanted = signature.outputs;
    // All requests of one output in one part, or each in its own.
    const apart = outputs.length === count * wanted.length;
    if (!apart && (lengths.length > 0 || outputs.length !== wanted.length))
      return `the worker returned ${outputs.length} outputs, ${spec.name} has ${wanted.length}`;
    const isFree = hasFreeSizes(signature);
    if (isFree !== (shapes !== undefined) || (shapes !== undefined && shapes.length !== wanted.length))
      return `the worker returned ${shapes?.length ?? 'no'} shapes for the outputs of ${spec.name}`;
    for (let i = 0; i < outputs.length; i++) {
      const tensor = wanted[i % wanted.length];
      const { name, datatype } = tensor;
      const length = lengths[Math.floor(i / wanted.length)];
      const bytes = length === undefined ? tensor.bytes : bytesAtLength(tensor, length);
      const given = shapes?.[i % wanted.length];
      const bytesWanted = given === undefined ? (apart ? 1 : count) * bytes : bytesOfShape(datatype, given);
      const { byteLength } = outputs[i];
      if (byteLength === 0 && (keep[i] === DROPPED || kept.includes(keep[i]))) continue;
      // Texts vary in length: they are read by the frontend, in parallel with others, not by the scheduling thread.
      if (datatype === 'BYTES' ? byteLength < bytesWanted : byteLength !== bytesWanted)
        return `the worker returned ${byteLength} bytes of output ${name}, not ${bytesWanted}`;
    }
    return '';
  }

  private gpuDown(gpu: number, reason: string): void {
    const { gpus } = this.description;
    if (gpus[gpu] === undefined) throw new Error(`has lost GPU ${gpu}, of ${gpus.length}`);
    this.events?.gpuDown(gpu, reason);
  }

  private machineNs(): number {
    return this.options.nowNs() + this.options.clock.offsetNs;
  }

  /** `read` throws `Error` if the question has no such answer. */
  private ask<T>(question: Question, read: (answer: Answer) => T): Promise<T> {
    const id = ++this.questions;
    this.write({ body: 'ask', id, question });
    return new Promise((resolve, reject) =>
      this.asked.set(id, { resolve: (answer) => resolve(read(answer)), reject }),
    );
  }
}

function inputBytes({ inputs, kept = [] }: ActionMessage): number {
  return kept.reduce((sum, { begin, end }) => sum + end - begin, tensorBytes(inputs));
}

function tooLarge(action: ActionMessage, mostBytes: number): ResultMessage {
  return {
    id: action.id,
    gpu: action.gpu,
    status: STATUS_DEVICE_ERROR,
    beginNs: action.earliestNs,
    endNs: action.earliestNs,
    copyInNs: 0,
    copyOutNs: 0,
    outputs: [],
    error: `inputs of ${inputBytes(action)} bytes exceed the worker's message limit of ${mostBytes}`,
  };
}

function lengthsOf(signature: ModelSignature, inputs: ActionMessage['inputs']): number[] {
  const each = signature.inputs.length;
  return Array.from({ length: inputs.length / each }, (_, r) => lengthOfInputs(signature, inputs, r * each));
}

const NONE: readonly never[] = [];

/** Tolerance for reading a clock before sending the message. */
const TOLERANCE_NS = NS_PER_MS;

const NO_OUTPUTS = { outputs: [], shapes: undefined, kept: undefined };

type Times = Pick<ResultMessage, 'beginNs' | 'endNs' | 'copyInNs' | 'copyOutNs'>;

/** Limits times, moving then shortening the action: nothing ends after its result came, nor starts before sending. */
function possibleTimes(result: ResultMessage, earliestNs: number, nowNs: number): Times {
  const backNs = Math.max(0, result.endNs - nowNs);
  const endNs = Math.max(result.endNs - backNs, earliestNs);
  const beginNs = Math.min(Math.max(result.beginNs - backNs, earliestNs), endNs);
  const copyInNs = Math.min(Math.max(0, result.copyInNs), endNs - beginNs);
  const copyOutNs = Math.min(Math.max(0, result.copyOutNs), endNs - beginNs - copyInNs);
  return { beginNs, endNs, copyInNs, copyOutNs };
}
