import { STATUS_DEVICE_ERROR } from '../../../core/action.js';
import type { ActionMessage, ResultMessage, WorkerDescription, WorkerState } from '../../messages.js';
import type { ServedModel } from '../../model.js';
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
import type { ClockSync } from './clock-sync.js';
import { ResultCheck } from './result-check.js';
import type { DrivenMachine } from './worker-link.js';

interface MachineStubOptions {
  /** Estimate of the machine's clock. */
  readonly clock: ClockSync;
  /** Clock of the controller. */
  readonly nowNs: () => number;
  readonly write: (message: ControllerMessage) => void;
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
export class MachineStub implements DrivenMachine {
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
  private readonly check: ResultCheck;

  constructor(
    { description, maxMessageBytes }: Welcome,
    private readonly options: MachineStubOptions,
  ) {
    this.write = options.write;
    this.maxMessageBytes = maxMessageBytes;
    this.description = description;
    this.models = [...description.models];
    this.check = new ResultCheck(this.models);
  }

  attach(events: MachineEvents): void {
    this.events = events;
  }

  submit(actions: readonly ActionMessage[]): void {
    const mostBytes = this.maxMessageBytes - ENVELOPE_BYTES;
    const fits = (action: ActionMessage) => inputBytes(action) <= mostBytes;
    const fitting = actions.every(fits) ? actions : actions.filter(fits);
    const sentNs = this.machineNs();
    for (const action of fitting) this.check.add(action, sentNs);
    if (fitting.length > 0) this.write({ body: 'actions', actions: fitting });
    if (fitting.length < actions.length)
      this.events?.results(actions.filter((action) => !fits(action)).map((a) => tooLarge(a, mostBytes)));
  }

  forget(keys: readonly number[]): void {
    this.write({ body: 'forget', keys });
  }

  async quiesce(): Promise<WorkerState> {
    const state = await this.ask({ what: 'quiesce' }, (answer) => stateOf(answer, this.description));
    this.check.forget();
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
    const possible = results.flatMap((result) => this.check.take(result, nowNs, errorNs) ?? []);
    if (possible.length > 0) this.events?.results(possible);
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
