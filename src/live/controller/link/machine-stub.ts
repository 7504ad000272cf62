import { STATUS_DEVICE_ERROR } from '../../../core/action.js';
import type { ActionMessage, ResultMessage, WorkerDescription, WorkerState } from '../../messages.js';
import type { OperatorRun, OperatorRuns } from '../../operator-runs.js';
import { chunk, ENVELOPE_BYTES, tensorBytes } from '../../wire/chunks.js';
import { resultFromWire, stateFromWire } from '../../wire/from-wire.js';
import { operatorsFromWire } from '../../wire/operator-chunks.js';
import type {
  ControllerMessage,
  WireOperators,
  WireRecordingEnd,
  WireResult,
  WireState,
} from '../../wire/protocol.js';
import { actionToWire } from '../../wire/to-wire.js';
import type { MachineEvents } from '../../worker/machine.js';
import type { DrivenMachine } from './machine-link.js';

/**
 * The machine at the other end of a stream, as if it were here. What it is asked after the stream has ended is
 * never answered.
 */
export class MachineStub implements DrivenMachine {
  private events: MachineEvents | null = null;
  private quiesces = 0;
  private quiesced: ((state: WorkerState) => void) | null = null;
  private recordings = 0;
  /** What has come since the latest StopRecording. */
  private operators: (readonly OperatorRun[])[] = [];
  private operatorCount = 0;
  private recorded: (end: WireRecordingEnd) => void = () => {};

  constructor(
    readonly description: WorkerDescription,
    /** The largest message that the worker takes. */
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
}

/** Of one recording: far more than a machine can keep. */
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
