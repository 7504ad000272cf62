import { EscapementError } from '../../../base/errors.js';
import { NS_PER_MS, NS_PER_S } from '../../../base/units.js';
import type { Timer } from '../../../base/world/time.js';
import { ACTION_NAMES } from '../../../core/action.js';
import { deviceName } from '../../device.js';
import type { ActionMessage, ResultMessage } from '../../messages.js';
import { NO_OPERATORS, type OperatorRuns } from '../../operator-runs.js';
import type { RunningAction, ThreadReport } from './protocol.js';
import { ThreadSet, type ThreadSetSpec, type ThreadWorld } from './thread-set.js';

export interface ExecutorEvents {
  results(results: readonly ResultMessage[]): void;
  /** Its threads have died: nothing sent to its GPUs is answered any more, until it has quiesced. */
  died(reason: string): void;
}

/** By GPU of the executor: models whose weights are present. */
type Present = readonly (readonly number[])[];

/** Time that running actions may take when the threads are to be idle, and that a worker drains. */
const QUIESCE_NS = 30 * NS_PER_S;

/** Threads of one executor as seen by the machine: they take actions, and can die and be restarted. */
export class Executor {
  /** Null: they have died, or could not be started. */
  private live: ThreadSet | null = null;
  /** Resolves when the previous ones have ended. */
  private stopped: Promise<void> = Promise.resolve();
  private former: ThreadSet | null = null;
  private starting: ThreadSet | null = null;
  private restarting: Promise<void> | null = null;
  private readonly quiesces: ((present: Present) => void)[] = [];
  /** Set while it quiesces. */
  private limit: Timer | null = null;
  /** Actions that it waits for then, or has waited for in vain. */
  private running: readonly RunningAction[] = [];
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

  /**
   * Starts the threads after the previous ones have ended. Rejects if that fails, with `E_DEVICE` if those don't end.
   */
  async start(): Promise<void> {
    await this.stopped;
    if (this.former?.isGone === false) throw this.stuck();
    const events = {
      report: (report: ThreadReport) => this.reported(report),
      died: (reason: string) => this.died(threads, reason),
    };
    const threads = new ThreadSet(this.spec, events, this.world);
    this.starting = threads;
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
      this.retire(threads);
      await this.stopped;
      throw error;
    } finally {
      this.starting = null;
    }
    this.running = [];
    this.live = threads;
  }

  /** Applies a change of the model at the index. Dead threads learn it when they start. */
  async modelChanged(index: number): Promise<void> {
    await this.live?.putModel(index, this.spec.models[index]);
  }

  submit(actions: readonly ActionMessage[]): void {
    this.live?.post({ kind: 'actions', actions });
  }

  /**
   * Drops waiting actions, and resolves when nothing runs. Restarts dead threads, and those whose device has not
   * returned for 30 s; if that fails, `died` is called once more, later.
   */
  async quiesce(): Promise<Present> {
    const { live } = this;
    if (live !== null) {
      return new Promise((resolve) => {
        this.quiesces.push(resolve);
        this.limit ??= this.world.time.after(QUIESCE_NS / NS_PER_MS, () =>
          this.died(live, this.stuck().message),
        );
        live.post({ kind: 'quiesce' });
      });
    }
    this.restarting ??= this.restart();
    await this.restarting;
    return this.nothing();
  }

  /** Records operators from now on, until the threads die or it is stopped. Throws if there is no place for them. */
  startRecording(): void {
    this.live?.startRecording();
  }

  /** Empty if none were recorded. Rejects if they cannot be read. */
  async stopRecording(): Promise<OperatorRuns> {
    return this.live?.stopRecording() ?? NO_OPERATORS;
  }

  /** Ends the threads for good. */
  async stop(): Promise<void> {
    this.closed = true;
    void this.starting?.stop();
    await this.restarting;
    if (this.live !== null) this.retire(this.live);
    await this.stopped;
    for (const resolve of this.takeQuiesces()) resolve(this.nothing());
  }

  private reported(report: ThreadReport): void {
    if (report.kind === 'quiesced') this.quiesced(report.present);
    else if (report.kind === 'waits') this.running = report.actions;
    // While it quiesces, results are of actions that no longer matter.
    else if (report.kind === 'results' && this.quiesces.length === 0) this.events.results(report.results);
  }

  private quiesced(present: Present): void {
    const resolve = this.quiesces.shift();
    if (this.quiesces.length === 0) {
      this.takeQuiesces();
      this.running = [];
    }
    resolve?.(present);
  }

  /** Takes the callers that wait for a completed quiesce. */
  private takeQuiesces(): ((present: Present) => void)[] {
    this.limit?.cancel();
    this.limit = null;
    return this.quiesces.splice(0);
  }

  /** Retires the threads. */
  private retire(threads: ThreadSet): void {
    this.live = null;
    this.former = threads;
    this.stopped = threads.stop();
  }

  private died(threads: ThreadSet, reason: string): void {
    // It has not started: `start` sees it.
    if (this.live !== threads) return;
    this.retire(threads);
    const waiting = this.takeQuiesces();
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
      // After the caller that awaits the quiesce has continued.
      this.world.time.soon(() => this.events.died(reason));
    } finally {
      this.restarting = null;
    }
  }

  /** Error that its threads neither continue nor end. */
  private stuck(): EscapementError {
    const { gpus, models } = this.spec;
    const actions = this.running.map(({ gpu, kind, model }) => {
      const device = gpus.find((one) => one.gpu === gpu)?.device;
      const name = device === undefined ? '' : ` (${deviceName(device)})`;
      return `the ${ACTION_NAMES[kind]} of model ${models[model]?.spec.name ?? model} on GPU ${gpu}${name}`;
    });
    const what = actions.length === 0 ? 'a call of the device' : actions.join(' and ');
    return new EscapementError('E_DEVICE', `${what} is hung; the GPU is out of service until it returns`);
  }

  private nothing(): Present {
    return this.spec.gpus.map(() => []);
  }
}
