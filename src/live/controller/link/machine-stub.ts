import { STATUS_DEVICE_ERROR } from '../../core/action.js';
import type { MachineEvents } from '../machine/machine.js';
import type { ActionMessage, ResultMessage, WorkerDescription, WorkerState } from '../messages.js';
import type { OperatorProfile, OperatorRun } from '../profiler/operator-profile.js';
import { chunk, ENVELOPE_BYTES, tensorBytes } from './chunks.js';
import { resultFromWire, stateFromWire } from './from-wire.js';
import type { DrivenMachine } from './machine-session.js';
import { operatorsFromWire } from './operator-chunks.js';
import type { ControllerMessage, WireOperators, WireProfileEnd, WireResult, WireState } from './protocol.js';
import { actionToWire } from './to-wire.js';

/**
 * The machine at the other end of a stream, as if it were here. What it is asked after the stream has ended is
 * never answered.
 */
export class RemoteMachine implements DrivenMachine {
  private events: MachineEvents | null = null;
  private quiesces = 0;
  private quiesced: ((state: WorkerState) => void) | null = null;
  private profiles = 0;
  /** What has come since the latest StopProfile. */
  private operators: (readonly OperatorRun[])[] = [];
  private profiled: (end: WireProfileEnd) => void = () => {};

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

  startProfile(): void {
    this.write({ body: 'startProfile', startProfile: {} });
  }

  stopProfile(): Promise<OperatorProfile> {
    this.operators = [];
    this.write({ body: 'stopProfile', stopProfile: { number: ++this.profiles } });
    return new Promise((resolve, reject) => {
      this.profiled = ({ dropped, error }) => {
        if (error === '') resolve({ operators: this.operators.flat(), dropped });
        else reject(new Error(error));
      };
    });
  }

  receiveOperators(operators: WireOperators): void {
    if (operators.number === this.profiles) this.operators.push(operatorsFromWire(operators));
  }

  receiveProfileEnd(end: WireProfileEnd): void {
    if (end.number === this.profiles) this.profiled(end);
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
