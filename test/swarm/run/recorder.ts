import { INFER, LOAD, STATUS_OK } from '../../../src/core/action.js';
import type { ActionMessage } from '../../../src/live/messages.js';
import type { ControllerMessage, Question, WorkerMessage } from '../../../src/live/wire/protocol.js';
import { type HistoryEvent, type LogLevel, nameOf, type ProcessLife } from '../history/history.js';
import type { ModelScenario } from '../scenario/scenario.js';
import type { Direction, Incarnation, ProcessChange, Tap } from '../world/tap.js';

/** Writes down what a simulated world shows from outside. */
export class Recorder implements Tap {
  readonly events: HistoryEvent[] = [];
  /** By connection between a controller and a worker. */
  private readonly streams = new Map<number, Stream>();
  /** By life of a worker and index: what its models are called. */
  private readonly models = new Map<ProcessLife, string[]>();
  /** By GPU and index: what was loaded there last. */
  private readonly loaded = new Map<string, string>();
  private readonly pages: ReadonlyMap<string, number>;

  constructor(
    private readonly scenario: readonly ModelScenario[],
    /** A process has ended, for whatever reason. */
    private readonly ended: (of: Incarnation, change: ProcessChange) => void,
    /** What the clock of a process' machine says. */
    private readonly localNs: (process: string) => number,
    /** Workers have the models from their start. */
    private readonly isListed = true,
  ) {
    this.pages = new Map(scenario.map(({ name, pages }) => [name, pages]));
  }

  add(event: HistoryEvent): void {
    this.events.push(event);
  }

  log(atNs: number, of: Incarnation, level: string, text: string, facts: object): void {
    const line = Object.keys(facts).length === 0 ? text : `${text} ${JSON.stringify(facts)}`;
    this.add({ atNs, kind: 'logged', process: lifeOf(of), level: level as LogLevel, line });
  }

  process(atNs: number, of: Incarnation, change: ProcessChange, why: string): void {
    const process = lifeOf(of);
    if (change === 'started' || change === 'frozen' || change === 'thawed')
      this.add({ atNs, kind: change, process });
    else {
      this.add({ atNs, kind: change, process, why });
      this.ended(of, change);
    }
  }

  threw(atNs: number, of: Incarnation, thread: string, error: Error): void {
    // The main thread ends its process, and the reason is seen there.
    if (thread === 'main') return;
    this.add({ atNs, kind: 'threadDied', process: lifeOf(of), thread, why: error.stack ?? error.message });
  }

  thread(atNs: number, of: Incarnation, kind: string, change: string): void {
    if (kind === 'frontend' && change === 'ended')
      this.add({ atNs, kind: 'frontendEnded', process: lifeOf(of) });
  }

  connection(
    atNs: number,
    id: number,
    change: 'opened' | 'closed',
    from: Incarnation,
    to: Incarnation,
  ): void {
    // Workers also call controllers, to register.
    if (!from.process.startsWith('controller')) return;
    if (change === 'closed') this.add({ atNs, kind: 'streamEnded', stream: id });
    else {
      const worker = lifeOf(to);
      this.streams.set(id, new Stream(worker));
      this.add({ atNs, kind: 'streamOpened', stream: id, controller: lifeOf(from), worker });
    }
  }

  message(atNs: number, id: number, direction: Direction, message: unknown, frame: number): void {
    const stream = this.streams.get(id);
    if (stream === undefined) return;
    if (direction === 'toServer') {
      stream.sent.set(frame, message as ControllerMessage);
      this.windowsSent(atNs, id, stream, message as ControllerMessage);
    } else this.fromWorker(atNs, id, stream, message as WorkerMessage);
  }

  delivered(atNs: number, id: number, direction: Direction, frame: number): void {
    const stream = this.streams.get(id);
    if (stream === undefined || direction !== 'toServer') return;
    const message = stream.sent.get(frame);
    stream.sent.delete(frame);
    if (message?.body === 'actions') {
      const actions = message.actions.filter(isNumbered).map((action) => action.id);
      this.add({ atNs, kind: 'actionsArrived', stream: id, actions });
    } else if (message?.body === 'ask') stream.questions.set(message.id, message.question);
  }

  damaged(atNs: number, id: number): void {
    if (this.streams.has(id)) this.add({ atNs, kind: 'damaged', stream: id });
  }

  executorStarted(atNs: number, of: Incarnation, gpus: readonly number[]): void {
    this.add({ atNs, kind: 'executorStarted', process: lifeOf(of), gpus });
  }

  deviceBegan(atNs: number, of: Incarnation, gpu: number, action: ActionMessage, localNs: number): void {
    if (action.kind !== LOAD && action.kind !== INFER) return;
    const process = lifeOf(of);
    const model = this.modelAt(process, action.model);
    const { id, count, earliestNs, latestNs } = action;
    const what = action.kind === LOAD ? 'LOAD' : 'INFER';
    if (what === 'LOAD') this.loaded.set(`${process} ${gpu} ${action.model}`, model);
    const window = { localNs, earliestNs, latestNs };
    const pages = this.pages.get(model) ?? 0;
    this.add({ atNs, kind: 'began', process, gpu, action: id, what, model, pages, count, ...window });
  }

  deviceEnded(atNs: number, of: Incarnation, gpu: number, action: number, status: number): void {
    this.add({ atNs, kind: 'ended', process: lifeOf(of), gpu, action, isOk: status === STATUS_OK });
  }

  deviceUnloaded(atNs: number, of: Incarnation, gpu: number, model: number): void {
    const process = lifeOf(of);
    // Another model may have its index already.
    const name = this.loaded.get(`${process} ${gpu} ${model}`) ?? '';
    this.add({ atNs, kind: 'unloaded', process, gpu, model: name });
  }

  private windowsSent(atNs: number, id: number, { worker }: Stream, message: ControllerMessage): void {
    if (message.body !== 'actions') return;
    const localNs = this.localNs(nameOf(worker));
    const { actions } = message;
    const most = (list: readonly number[]) => {
      const finite = list.filter((ns) => Number.isFinite(ns));
      return finite.length === 0 ? null : Math.max(...finite);
    };
    const windows = actions.filter(({ kind }) => kind === INFER || kind === LOAD);
    this.add({
      ...{ atNs, kind: 'windowsSent', stream: id },
      pastNs: most(windows.map(({ latestNs }) => localNs - latestNs)),
      aheadNs: most(windows.map(({ earliestNs }) => earliestNs - localNs)),
    });
  }

  private fromWorker(atNs: number, id: number, stream: Stream, message: WorkerMessage): void {
    if (message.body === 'lease') {
      const { term, controller: driver } = message;
      this.add({ atNs, kind: 'leaseSaid', stream: id, term, driver });
    } else if (message.body === 'results') {
      const actions = message.results.filter(isNumbered).map((result) => result.id);
      this.add({ atNs, kind: 'resultsSent', stream: id, actions });
    } else if (message.body === 'answer' && message.error === '') {
      const question = stream.questions.get(message.id);
      if (question?.what === 'quiesce') this.add({ atNs, kind: 'stateSaid', stream: id });
      else if (question?.what === 'changeModel')
        this.namesOf(stream.worker)[question.index] = question.reference?.name ?? '';
    }
  }

  private modelAt(process: ProcessLife, index: number): string {
    return this.namesOf(process)[index] ?? '';
  }

  private namesOf(process: ProcessLife): string[] {
    const started = this.isListed ? this.scenario.map(({ name }) => name) : [];
    const names = this.models.get(process) ?? started;
    this.models.set(process, names);
    return names;
  }
}

export function lifeOf({ process, incarnation }: Incarnation): ProcessLife {
  return `${process}#${incarnation}`;
}

/** What is under way on a connection. */
class Stream {
  /** By frame: what the controller has sent, and the worker has not got. */
  readonly sent = new Map<number, ControllerMessage>();
  /** By number: what the worker was asked for. */
  readonly questions = new Map<number, Question>();

  constructor(readonly worker: ProcessLife) {}
}

/** Some that make room in a cache have no number, and no result counts. */
function isNumbered({ id }: { readonly id: number }): boolean {
  return id >= 0;
}
