import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Worker as Thread } from 'node:worker_threads';
import { compiledNextTo } from '../base/compiled.js';
import { EscapementError } from '../base/errors.js';
import type { WorkerModel } from '../live/model.js';
import type { ModelList, ModelReference, ModelSource } from '../live/model-list.js';
import { problemError } from '../live/ort/runtime-problem.js';
import { Channel } from '../live/transfer.js';
import { Turns } from '../live/turns.js';
import { whenEnded } from '../live/world/threads.js';
import { clientReason } from './model-errors.js';
import type { PlainList, PreparedModel, PreparerTask, Repository } from './prepare-model.js';
import type { PreparerCalls } from './preparer-thread.js';

/** Number of versions remembered, more than most servers have at a time. */
const MOST_OPENED = 1024;
/** Idle time after which the thread exits to free its memory. */
const IDLE_MS = 60_000;

/** Limit on threads that prepare models: each has a process of onnxruntime. */
const MOST_PREPARERS = 8;
/** Interval of looks for idle time, and the most CPU time of this process in it. */
const IDLE_LOOK_MS = 1000;
const IDLE_CPU_US = 20_000;

/**
 * Models of a repository, prepared on a controller's request. They are read, optimized and profiled in threads of their
 * own, since this must not delay the scheduler: on the CPU one per core, each model always in the same. Provisional
 * profiles are measured again while this process is idle. Keeps only the necessary facts in memory. All calls reject
 * with coded errors.
 */
export class RepositorySource implements ModelSource {
  /** Latest result of opening each version, most recent at the end. */
  private readonly opened = new Map<string, { readonly model: PreparedModel; readonly file: string }>();
  private readonly preparers: readonly Preparer[];
  private readonly idleLooks: NodeJS.Timeout;
  private cpu = process.cpuUsage();

  /** `say` receives lines for the operator. */
  constructor(
    private readonly repository: Repository,
    say: (what: string) => void,
    newPreparer: () => Preparer = () => new PreparerThread(say),
  ) {
    const { kind } = repository.options.device;
    const count = kind === 'cpu' ? Math.min(MOST_PREPARERS, availableParallelism()) : 1;
    this.preparers = Array.from({ length: count }, newPreparer);
    this.idleLooks = setInterval(() => this.idleLook(), IDLE_LOOK_MS).unref();
  }

  async list(name: string | null, config?: string): Promise<ModelList> {
    const list = (await this.call({ ...this.repository, kind: 'list', name, config })) as PlainList;
    return { ...list, problems: list.problems.map((one) => ({ ...one, error: problemError(one.error) })) };
  }

  async open({ name, version, digest, config }: ModelReference): Promise<WorkerModel | null> {
    const before = this.opened.get(JSON.stringify([name, version]));
    // A model's files may change while it is unloaded and change back.
    if (before?.model.digest === digest && before.file === fileKey(before.model)) return before.model;
    const model = await this.prepare(name, version, config, this.repository);
    if (model !== null && digest !== '' && digest !== model.digest) {
      throw new Error('its files have changed since they were listed: load it again');
    }
    return model;
  }

  /** Aborts work in progress: it rejects, and so do later calls. */
  async close(): Promise<void> {
    clearInterval(this.idleLooks);
    await Promise.all(this.preparers.map((preparer) => preparer.close()));
  }

  private async prepare(
    name: string,
    version: string,
    config: string | undefined,
    repository: Repository,
  ): Promise<PreparedModel | null> {
    const key = JSON.stringify([name, version]);
    const model = (await this.call({
      ...repository,
      kind: 'prepare',
      name,
      version,
      config,
    })) as PreparedModel | null;
    this.opened.delete(key);
    if (model === null) return null;
    this.opened.set(key, { model, file: fileKey(model) });
    if (this.opened.size > MOST_OPENED) this.opened.delete(this.opened.keys().next().value as string);
    return model;
  }

  private call(task: PreparerTask & { readonly name: string | null }): Promise<unknown> {
    const sum = [...(task.name ?? '')].reduce((all, char) => all + char.charCodeAt(0), 0);
    return this.preparers[sum % this.preparers.length].call(task);
  }

  /** Measures one provisional model in full if the process was idle; its next load uses the result. */
  private idleLook(): void {
    const { user, system } = process.cpuUsage(this.cpu);
    this.cpu = process.cpuUsage();
    if (user + system > IDLE_CPU_US || this.preparers.some(({ isBusy }) => isBusy)) return;
    const found = [...this.opened.values()].find(({ model }) => model.isProvisional);
    if (found === undefined) return;
    const { budgetNs: _, ...options } = this.repository.options;
    const full = { ...this.repository, options: { ...options, measure: 'full' as const } };
    const { spec, version, config } = found.model;
    // A model that cannot be measured now is prepared again when it is loaded.
    this.prepare(spec.name, version, config, full).catch(() =>
      this.opened.delete(JSON.stringify([spec.name, version])),
    );
  }
}

/** Reads, optimizes and profiles models, one after the other. */
export interface Preparer {
  readonly isBusy: boolean;
  call(task: PreparerTask): Promise<unknown>;
  close(): Promise<void>;
}

/** A preparer in a thread of its own. */
class PreparerThread implements Preparer {
  /** Null: none at present. */
  private running: { readonly thread: Thread; readonly channel: Channel<PreparerCalls> } | null = null;
  private readonly turns = new Turns<PreparerThread>();
  private idle: NodeJS.Timeout | null = null;
  private isClosed = false;

  constructor(private readonly say: (what: string) => void) {}

  get isBusy(): boolean {
    return this.turns.isBusy(this);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.running?.channel.end(closed());
    this.end();
    await this.turns.take(this, async () => {});
  }

  call(task: PreparerTask): Promise<unknown> {
    return this.turns.take(this, () => this.run(task));
  }

  private run(task: PreparerTask): Promise<unknown> {
    if (this.idle !== null) clearTimeout(this.idle);
    if (this.isClosed) return Promise.reject(closed());
    const { thread, channel } = this.running ?? this.begin();
    thread.ref();
    return channel.call('perform', task).finally(() => {
      thread.unref();
      this.idle = setTimeout(() => this.end(), IDLE_MS).unref();
    });
  }

  private begin(): NonNullable<PreparerThread['running']> {
    const thread = new Thread(compiledNextTo(import.meta.url, 'preparer-thread.js'));
    const channel = new Channel<PreparerCalls>(thread, { say: this.say });
    const running = { thread, channel };
    this.running = running;
    whenEnded(thread, (why) => {
      if (this.running === running) this.running = null;
      channel.end(new EscapementError('E_MODEL_FILE', `the thread that prepares models ended: ${why}`));
    });
    return running;
  }

  /** The thread kills its process and exits by itself. */
  private end(): void {
    this.running?.channel.send('end', []);
    this.running = null;
  }
}

function closed(): EscapementError {
  return new EscapementError('E_MODEL_FILE', 'no more models are prepared: the server is shutting down');
}

/** Changes with each replacement of the optimized model. */
function fileKey({ ortPath }: WorkerModel): string {
  const stats = statSync(ortPath ?? '', { throwIfNoEntry: false });
  return `${stats?.ino} ${stats?.mtimeMs}`;
}

/** A worker's models, for a remote controller: problems are logged at the worker, and reported without paths. */
export class ReportedSource implements ModelSource {
  constructor(
    private readonly source: ModelSource,
    /** Repositories of the worker. */
    private readonly dirs: readonly string[],
    private readonly say: (what: string) => void,
  ) {}

  async list(name: string | null, config?: string): Promise<ModelList> {
    const list = await this.source
      .list(name, config)
      .catch((error: Error) => this.fail('the repository', error));
    const problems = list.problems.map((one) => {
      const error = new EscapementError(one.error.code, clientReason(one.error, this.dirs));
      return { ...one, error };
    });
    return { ...list, problems };
  }

  open(reference: ModelReference): Promise<WorkerModel | null> {
    const model = `model ${JSON.stringify(reference.name)}, version ${reference.version},`;
    return this.source.open(reference).catch((error: Error) => this.fail(model, error));
  }

  close(): Promise<void> {
    return this.source.close();
  }

  private fail(what: string, error: Error): never {
    this.say(`${what} cannot be used: ${error.message}`);
    throw new Error(clientReason(error, this.dirs));
  }
}
