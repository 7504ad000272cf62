import { statSync } from 'node:fs';
import { Worker as Thread } from 'node:worker_threads';
import { compiledNextTo } from '../base/compiled.js';
import { EscapementError } from '../base/errors.js';
import type { ModelSource, WorkerModel } from '../live/model.js';
import type { ModelList } from '../live/model-list.js';
import { problemError } from '../live/ort/runtime-problem.js';
import type { PreparedModel } from './prepare-model.js';
import type { PlainList, PreparerReply, PreparerTask, Repository } from './preparer-thread.js';

/** Number of versions remembered, more than most servers have at a time. */
const MOST_OPENED = 1024;
/** Idle time after which the thread exits to free its memory. */
const IDLE_MS = 60_000;

/**
 * Models of a repository, prepared on a controller's request. They are read, optimized and profiled in a thread of its own,
 * one after the other: this must not delay the scheduler, and two profilings at once would distort each other. Keeps only
 * the necessary facts in memory. All calls reject with coded errors.
 */
export class RepositorySource implements ModelSource {
  /** Latest result of opening each version, most recent at the end. */
  private readonly opened = new Map<string, { readonly model: WorkerModel; readonly file: string }>();
  private thread: Thread | null = null;
  private turn: Promise<unknown> = Promise.resolve();
  private idle: NodeJS.Timeout | null = null;
  private waiting = 0;
  private isClosed = false;
  /** The task in progress. */
  private current: { resolve(result: unknown): void; reject(error: Error): void } | null = null;

  /** `say` receives lines for the operator. */
  constructor(
    private readonly repository: Repository,
    private readonly say: (what: string) => void,
  ) {}

  async list(name: string | null): Promise<ModelList> {
    const list = (await this.call({ ...this.repository, kind: 'list', name })) as PlainList;
    return { ...list, problems: list.problems.map((one) => ({ ...one, error: problemError(one.error) })) };
  }

  async open(name: string, version: string, digest: string): Promise<WorkerModel> {
    const key = JSON.stringify([name, version]);
    const before = this.opened.get(key);
    // A model's files may change while it is unloaded and change back.
    if (before?.model.digest === digest && before.file === fileKey(before.model)) return before.model;
    const task = { ...this.repository, kind: 'prepare', name, version } as const;
    const model = (await this.call(task)) as PreparedModel;
    if (digest !== '' && digest !== model.digest) {
      throw new Error('its files have changed since they were looked at: load it');
    }
    this.opened.delete(key);
    this.opened.set(key, { model, file: fileKey(model) });
    if (this.opened.size > MOST_OPENED) this.opened.delete(this.opened.keys().next().value as string);
    return model;
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
      const what = `the thread that prepares models ended: ${why}`;
      this.current?.reject(new EscapementError('E_MODEL_FILE', what));
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

/** Changes with each replacement of the optimized model. */
function fileKey({ ortPath }: WorkerModel): string {
  const stats = statSync(ortPath ?? '', { throwIfNoEntry: false });
  return `${stats?.ino} ${stats?.mtimeMs}`;
}
