import { STATUS_DEVICE_ERROR } from '../../core/action.js';
import type { MachineEvents } from '../machine/machine.js';
import type { ActionMessage, ResultMessage, WorkerDescription, WorkerState } from '../messages.js';
import { chunk, ENVELOPE_BYTES, tensorBytes } from './chunks.js';
import { resultFromWire, stateFromWire } from './from-wire.js';
import type { DrivenMachine } from './machine-session.js';
import type { ControllerMessage, WireResult, WireState } from './protocol.js';
import { actionToWire } from './to-wire.js';

/**
 * The machine at the other end of a stream, as if it were here. What it is asked after the stream has ended is
 * never answered.
 */
export class RemoteMachine implements DrivenMachine {
  private events: MachineEvents | null = null;
  private quiesces = 0;
  private quiesced: ((state: WorkerState) => void) | null = null;

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
    outputs: [],
    error: `inputs of ${tensorBytes(action.inputs)} bytes exceed the worker's message limit of ${mostBytes}`,
  };
}
