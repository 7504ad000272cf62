import { Worker as Thread } from 'node:worker_threads';
import { compiledNextTo } from '../base/compiled.js';
import { EscapementError } from '../base/errors.js';
import type { ModelList } from '../live/model-list.js';
import { problemError } from '../live/ort/runtime-problem.js';
import type { PreparedModel } from './prepare-model.js';
import type { PlainList, PreparerReply, PreparerTask, Repository } from './preparer-messages.js';

/** Idle time after which the thread exits to free its memory. */
const IDLE_MS = 60_000;

/**
 * Reads, optimizes and profiles models in a thread of its own, one after the other: this must not delay the scheduler,
 * and two profilings at once would distort each other. All calls reject with coded errors.
 */
export class Preparer {
  private thread: Thread | null = null;
  private turn: Promise<unknown> = Promise.resolve();
  private idle: NodeJS.Timeout | null = null;
  private waiting = 0;
  private isClosed = false;
  /** The task in progress. */
  private current: { resolve(result: unknown): void; reject(error: Error): void } | null = null;

  constructor(
    private readonly repository: Repository,
    /** Receives lines for the operator. */
    private readonly say: (what: string) => void,
  ) {}

  /** Lists the whole repository, or one model of it and its files. */
  async list(name: string | null): Promise<ModelList> {
    const list = (await this.call({ ...this.repository, kind: 'list', name })) as PlainList;
    return { ...list, problems: list.problems.map((one) => ({ ...one, error: problemError(one.error) })) };
  }

  /** Like `prepareModel`. */
  async prepare(name: string, version: string): Promise<PreparedModel> {
    return (await this.call({ ...this.repository, kind: 'prepare', name, version })) as PreparedModel;
  }

  /** Aborts work in progress: it rejects, and so do later calls. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.current?.reject(closed());
    this.end();
    await this.turn;
  }

  private call(task: PreparerTask): Promise<unknown> {
    this.waiting++;
    const result = this.turn.then(() => this.run(task));
    this.turn = result
      .catch(() => {})
      .then(() => {
        this.waiting--;
        if (this.waiting === 0) this.idle = setTimeout(() => this.end(), IDLE_MS).unref();
      });
    return result;
  }

  private run(task: PreparerTask): Promise<unknown> {
    if (this.idle !== null) clearTimeout(this.idle);
    if (this.isClosed) return Promise.reject(closed());
    const thread = this.thread ?? this.begin();
    thread.ref();
    return new Promise<unknown>((resolve, reject) => {
      this.current = { resolve, reject };
      thread.postMessage(task);
    }).finally(() => {
      this.current = null;
      thread.unref();
    });
  }

  private begin(): Thread {
    const thread = new Thread(compiledNextTo(import.meta.url, 'preparer-thread.js'));
    this.thread = thread;
    thread.on('message', (message: PreparerReply) => {
      if (message.kind === 'say') this.say(message.what);
      else if (message.kind === 'done') this.current?.resolve(message.result);
      else this.current?.reject(problemError(message.problem));
    });
    const died = (why: string) => {
      if (this.thread !== thread) return;
      this.thread = null;
      this.current?.reject(
        new EscapementError('E_MODEL_FILE', `the thread that prepares models ended: ${why}`),
      );
    };
    thread.on('error', ({ message }) => died(message));
    thread.on('exit', (status) => died(`status ${status}`));
    return thread;
  }

  /** The thread kills its process and exits by itself. */
  private end(): void {
    this.thread?.postMessage(null);
    this.thread = null;
  }
}

function closed(): EscapementError {
  return new EscapementError('E_MODEL_FILE', 'no models are prepared any more: the server ends');
}
