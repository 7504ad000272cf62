import type { ActionMessage, ResultMessage } from '../../messages.js';
import { NO_OPERATORS, type OperatorRuns } from '../../operator-runs.js';
import type { ThreadReport } from './protocol.js';
import { ThreadSet, type ThreadSetSpec, type ThreadWorld } from './thread-set.js';

export interface ExecutorEvents {
  results(results: readonly ResultMessage[]): void;
  /** Nothing that was sent to its GPUs is answered any more, until it has quiesced. */
  died(reason: string): void;
}

/** By GPU of the executor: models whose weights are present. */
type Present = readonly (readonly number[])[];

/** The threads of one executor as the machine sees them: they take actions, and can die and be started again. */
export class Executor {
  /** Null: they have died, or could not be started. */
  private live: ThreadSet | null = null;
  /** The end of those that were before. */
  private stopped: Promise<void> = Promise.resolve();
  private restarting: Promise<void> | null = null;
  private readonly quiesces: ((present: Present) => void)[] = [];
  private closed = false;

  constructor(
    readonly spec: ThreadSetSpec,
    private readonly events: ExecutorEvents,
    private readonly world: ThreadWorld,
  ) {}

  /** Its threads; none while it is dead. */
  get threads(): ThreadSet['threads'] {
    return this.live?.threads ?? [];
  }

  /** Starts the threads, after those of before have ended. Rejects when that fails. */
  async start(): Promise<void> {
    await this.stopped;
    const events = {
      report: (report: ThreadReport) => this.reported(report),
      died: (reason: string) => this.died(threads, reason),
    };
    const threads = new ThreadSet(this.spec, events, this.world);
    const { models } = this.spec;
    const known = [...models];
    try {
      await threads.start();
      const changed = () => models.findIndex((model, index) => model !== known[index]);
      // One may change while the threads take in another.
      for (let index = changed(); index >= 0; index = changed()) {
        known[index] = models[index];
        await threads.putModel(index, models[index]);
      }
      if (threads.isOver) throw new Error('a thread of its executor ended while the others started');
    } catch (error) {
      await threads.stop();
      throw error;
    }
    this.live = threads;
  }

  /** The model of its `spec` at the index is another now, or none. Threads that are dead learn it when they start. */
  async modelChanged(index: number): Promise<void> {
    await this.live?.putModel(index, this.spec.models[index]);
  }

  submit(actions: readonly ActionMessage[]): void {
    this.live?.post({ kind: 'actions', actions });
  }

  /**
   * Drops what waits, and resolves when nothing runs. Restarts dead threads; if that fails, `died` is called once
   * more, later.
   */
  async quiesce(): Promise<Present> {
    const { live } = this;
    if (live !== null) {
      return new Promise((resolve) => {
        this.quiesces.push(resolve);
        live.post({ kind: 'quiesce' });
      });
    }
    this.restarting ??= this.restart();
    await this.restarting;
    return this.nothing();
  }

  /** Records operators from now on, until the threads die or it is stopped. Throws when there is no place for them. */
  startRecording(): void {
    this.live?.startRecording();
  }

  /** Nothing, if none were recorded. Rejects when they cannot be read. */
  async stopRecording(): Promise<OperatorRuns> {
    return this.live?.stopRecording() ?? NO_OPERATORS;
  }

  /** Ends the threads for good. */
  async stop(): Promise<void> {
    this.closed = true;
    await this.restarting;
    if (this.live !== null) this.stopped = this.live.stop();
    this.live = null;
    await this.stopped;
    for (const resolve of this.quiesces.splice(0)) resolve(this.nothing());
  }

  private reported(report: ThreadReport): void {
    if (report.kind === 'quiesced') this.quiesces.shift()?.(report.present);
    // While it quiesces, results are of actions that no longer matter.
    else if (report.kind === 'results' && this.quiesces.length === 0) this.events.results(report.results);
  }

  private died(threads: ThreadSet, reason: string): void {
    // It has not started: `start` sees it.
    if (this.live !== threads) return;
    this.live = null;
    this.stopped = threads.stop();
    const waiting = this.quiesces.splice(0);
    if (waiting.length === 0) this.events.died(reason);
    else
      void this.quiesce().then((present) => {
        for (const resolve of waiting) resolve(present);
      });
  }

  private async restart(): Promise<void> {
    try {
      if (!this.closed) await this.start();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      // After the caller that awaits the quiesce has gone on.
      this.world.time.soon(() => this.events.died(reason));
    } finally {
      this.restarting = null;
    }
  }

  private nothing(): Present {
    return this.spec.gpus.map(() => []);
  }
}
