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
import { modelFromWire, modelListFromWire, resultFromWire, stateFromWire } from '../../wire/from-wire.js';
import { operatorsFromWire } from '../../wire/operator-chunks.js';
import type {
  ControllerMessage,
  WireModelChanged,
  WireModelList,
  WireOperators,
  WireRecordingEnd,
  WireResult,
  WireState,
} from '../../wire/protocol.js';
import { actionToWire, modelChangeToWire } from '../../wire/to-wire.js';
import type { MachineEvents } from '../../worker/machine.js';
import { checkServed } from './description-check.js';
import type { DrivenMachine } from './machine-link.js';

/** A remote machine at the other end of a stream. Calls made after the stream has ended are never answered. */
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

  constructor(
    readonly description: WorkerDescription,
    /** Largest message that the worker accepts. */
    private readonly maxMessageBytes: number,
    private readonly write: (message: ControllerMessage) => void,
  ) {}

  attach(events: MachineEvents): void {
    this.events = events;
  }

  submit(actions: readonly ActionMessage[]): void {
    const mostBytes = this.maxMessageBytes - ENVELOPE_BYTES;
    const fits = (action: ActionMessage) => tensorBytes(action.inputs) <= mostBytes;
    const fitting = actions.every(fits) ? actions : actions.filter(fits);
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

  receiveModelList(list: WireModelList): void {
    const answered = this.listed.get(list.number);
    this.listed.delete(list.number);
    answered?.(list);
  }

  receiveModelChanged(answer: WireModelChanged): void {
    const answered = this.changed.get(answer.number);
    this.changed.delete(answer.number);
    answered?.(answer);
  }

  receiveOperators(operators: WireOperators): void {
    if (operators.number !== this.recordings) return;
    this.operatorCount += operators.node.length;
    if (this.operatorCount > MOST_OPERATORS) throw new Error(`more than ${MOST_OPERATORS} operators`);
    this.operators.push(operatorsFromWire(operators));
  }

  receiveRecordingEnd(end: WireRecordingEnd): void {
    if (end.number === this.recordings) this.recorded(end);
  }

  receiveState(state: WireState): void {
    if (state.number !== this.quiesces) return;
    this.quiesced?.(stateFromWire(state));
  }

  receiveResults(results: readonly WireResult[]): void {
    this.events?.results(results.map(resultFromWire));
  }

  receiveGpuDown(gpu: number, reason: string): void {
    this.events?.gpuDown(gpu, reason);
  }

  private change(index: number, reference: ModelReference | null): Promise<WireModelChanged> {
    const number = ++this.questions;
    this.write({ body: 'modelChange', modelChange: modelChangeToWire(number, index, reference) });
    return new Promise((resolve) => this.changed.set(number, resolve));
  }
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
