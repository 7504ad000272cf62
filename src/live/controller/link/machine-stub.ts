import { STATUS_DEVICE_ERROR } from '../../../core/action.js';
import type {
  ActionMessage,
  ModelReference,
  ResultMessage,
  WorkerDescription,
  WorkerState,
} from '../../messages.js';
import type { ServedModel } from '../../model.js';
import type { ModelList } from '../../model-list.js';
import type { OperatorRun, OperatorRuns } from '../../operator-runs.js';
import { chunk, ENVELOPE_BYTES, tensorBytes } from '../../wire/chunks.js';
import {
  descriptionFromWire,
  modelFromWire,
  modelListFromWire,
  resultFromWire,
  stateFromWire,
} from '../../wire/from-wire.js';
import { operatorsFromWire } from '../../wire/operator-chunks.js';
import type {
  ControllerMessage,
  Welcome,
  WireModelChanged,
  WireModelList,
  WireOperators,
  WireRecordingEnd,
  WireResult,
  WireState,
  WorkerMessage,
} from '../../wire/protocol.js';
import { actionToWire, modelChangeToWire } from '../../wire/to-wire.js';
import type { MachineEvents } from '../../worker/machine.js';
import type { ClockSync } from './clock-sync.js';
import { checkDescription, checkServed, checkState } from './description-check.js';
import type { DrivenMachine } from './machine-link.js';
import { ResultCheck } from './result-check.js';

interface MachineStubOptions {
  /** Estimate of the machine's clock. */
  readonly clock: ClockSync;
  /** Clock of the controller. */
  readonly nowNs: () => number;
  readonly write: (message: ControllerMessage) => void;
}

/**
 * A remote machine at the other end of a stream, and the border at which its messages are checked: the constructor and
 * `receive` throw `Error` with words that follow "the worker" if it is not to be trusted. Calls made after the stream
 * has ended are never answered.
 */
export class MachineStub implements DrivenMachine {
  private events: MachineEvents | null = null;
  private quiesces = 0;
  private quiesced: ((state: WorkerState) => void) | null = null;
  private recordings = 0;
  /** Number of questions about models so far, and unanswered ones by number. */
  private questions = 0;
  private readonly changed = new Map<number, (answer: WireModelChanged) => void>();
  private readonly listed = new Map<number, (answer: WireModelList) => void>();
  /** Operators received since the last StopRecording. */
  private operators: (readonly OperatorRun[])[] = [];
  private operatorCount = 0;
  private recorded: (end: WireRecordingEnd) => void = () => {};

  readonly description: WorkerDescription;
  /** Largest message that the worker accepts. */
  private readonly maxMessageBytes: number;
  private readonly write: (message: ControllerMessage) => void;
  /** Models by index, as far as this controller asked for them. */
  private readonly models: (ServedModel | null)[];
  private readonly check: ResultCheck;

  constructor(
    welcome: Welcome,
    private readonly options: MachineStubOptions,
  ) {
    this.write = options.write;
    this.maxMessageBytes = welcome.maxMessageBytes;
    this.description = trusted('describes itself in a way that is not understood', () => {
      const description = descriptionFromWire(welcome);
      checkDescription(description);
      return description;
    });
    this.models = [...this.description.models];
    this.check = new ResultCheck(this.models);
  }

  attach(events: MachineEvents): void {
    this.events = events;
  }

  submit(actions: readonly ActionMessage[]): void {
    const mostBytes = this.maxMessageBytes - ENVELOPE_BYTES;
    const fits = (action: ActionMessage) => tensorBytes(action.inputs) <= mostBytes;
    const fitting = actions.every(fits) ? actions : actions.filter(fits);
    const sentNs = this.machineNs();
    for (const action of fitting) this.check.add(action, sentNs);
    for (const part of chunk(fitting, ({ inputs }) => tensorBytes(inputs)))
      this.write({ body: 'actions', actions: { actions: part.map(actionToWire) } });
    if (fitting.length < actions.length)
      this.events?.results(actions.filter((action) => !fits(action)).map((a) => tooLarge(a, mostBytes)));
  }

  quiesce(): Promise<WorkerState> {
    this.write({ body: 'quiesce', quiesce: { number: ++this.quiesces } });
    return new Promise((resolve) => {
      this.quiesced = resolve;
    });
  }

  async listModels(name: string | null): Promise<ModelList> {
    const number = ++this.questions;
    this.write({ body: 'listModels', listModels: name === null ? { number } : { number, name } });
    const list = await new Promise<WireModelList>((resolve) => this.listed.set(number, resolve));
    if (list.error !== '') throw new Error(list.error);
    return modelListFromWire(list);
  }

  async addModel(index: number, reference: ModelReference): Promise<ServedModel> {
    const { error, model } = await this.change(index, reference);
    if (error !== '') throw new Error(error);
    if (model === undefined || model === null) throw new Error('it does not say what the model is');
    const served = modelFromWire(model);
    checkServed(served);
    while (this.models.length < index) this.models.push(null);
    this.models[index] = served;
    return served;
  }

  async dropModel(index: number): Promise<void> {
    await this.change(index, null);
  }

  startRecording(): void {
    this.write({ body: 'startRecording', startRecording: {} });
  }

  stopRecording(): Promise<OperatorRuns> {
    this.operators = [];
    this.operatorCount = 0;
    this.write({ body: 'stopRecording', stopRecording: { number: ++this.recordings } });
    return new Promise((resolve, reject) => {
      this.recorded = ({ dropped, error }) => {
        if (error === '') resolve({ operators: this.operators.flat(), dropped });
        else reject(new Error(error));
      };
    });
  }

  receive(message: WorkerMessage): void {
    if (message.body === 'results') this.results(message.results.results);
    else if (message.body === 'state') this.state(message.state);
    else if (message.body === 'gpuDown') this.gpuDown(message.gpuDown.gpu, message.gpuDown.reason);
    else if (message.body === 'operators')
      trusted('is not understood', () => this.addOperators(message.operators));
    else if (message.body === 'recordingEnd') {
      if (message.recordingEnd.number === this.recordings) this.recorded(message.recordingEnd);
    } else if (message.body === 'modelList') answer(this.listed, message.modelList);
    else if (message.body === 'modelChanged') answer(this.changed, message.modelChanged);
  }

  private results(results: readonly WireResult[]): void {
    const nowNs = this.machineNs();
    const errorNs = this.options.clock.errorNs(this.options.nowNs());
    const possible = results.flatMap(
      (result) => this.check.take(resultFromWire(result), nowNs, errorNs) ?? [],
    );
    if (possible.length > 0) this.events?.results(possible);
  }

  private state(wire: WireState): void {
    if (wire.number !== this.quiesces) return;
    const state = stateFromWire(wire);
    trusted('reports an impossible state', () => checkState(state, this.description));
    this.check.forget();
    this.quiesced?.(state);
  }

  private gpuDown(gpu: number, reason: string): void {
    const { gpus } = this.description;
    if (gpus[gpu] === undefined) throw new Error(`has lost GPU ${gpu}, of ${gpus.length}`);
    this.events?.gpuDown(gpu, reason);
  }

  private addOperators(operators: WireOperators): void {
    if (operators.number !== this.recordings) return;
    this.operatorCount += operators.node.length;
    if (this.operatorCount > MOST_OPERATORS) throw new Error(`more than ${MOST_OPERATORS} operators`);
    this.operators.push(operatorsFromWire(operators));
  }

  private machineNs(): number {
    return this.options.nowNs() + this.options.clock.offsetNs;
  }

  private change(index: number, reference: ModelReference | null): Promise<WireModelChanged> {
    const number = ++this.questions;
    this.write({ body: 'modelChange', modelChange: modelChangeToWire(number, index, reference) });
    return new Promise((resolve) => this.changed.set(number, resolve));
  }
}

/** Puts `what` before the message of an error that `read` throws. */
function trusted<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`${what}: ${(error as Error).message}`);
  }
}

function answer<T extends { readonly number: number }>(
  asked: Map<number, (answer: T) => void>,
  given: T,
): void {
  const answered = asked.get(given.number);
  asked.delete(given.number);
  answered?.(given);
}

/** Limit per recording, far above what a machine can keep. */
const MOST_OPERATORS = 10_000_000;

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
    error: `inputs of ${tensorBytes(action.inputs)} bytes exceed the worker's message limit of ${mostBytes}`,
  };
}
