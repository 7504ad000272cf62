import type { Time } from '../base/world/time.js';
import { Backoff } from '../live/controller/link/backoff.js';
import type { DeploymentEvents, ModelHost } from './deployment-options.js';
import type { ModelHandles } from './model-handles.js';
import type { Deployed, ModelTable } from './model-table.js';

/** Initial retry delay after a failed load; doubles up to the maximum. */
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;

/** Dependencies of idle models. */
interface IdleParts {
  readonly table: ModelTable;
  readonly handles: ModelHandles;
  readonly host: ModelHost;
  readonly events: DeploymentEvents;
  readonly time: Time;
  /** Text of an error for clients. */
  reasonOf(error: Error): string;
}

/** Models unloaded for lack of requests, and how they come back. Call it in the turn of the model. */
export class IdleModels {
  /** By handle: backoff of models that failed to load again. */
  private readonly failures = new Map<number, Backoff>();

  constructor(private readonly parts: IdleParts) {}

  /**
   * Loads the model of a handle again. If that fails, requests are rejected for a while; the first one after that
   * retries.
   */
  async wake(row: Deployed): Promise<void> {
    const { host, handles, table, events } = this.parts;
    const { name, version, handle, digest } = row;
    // The model may have changed before its turn came.
    if (table.get(name, version)?.handle !== handle) return;
    try {
      const { index } = await host.addModel({ name, version, digest: digest ?? '' });
      handles.awake(handle, index);
      this.failures.delete(handle);
      events.info({ model: name, version }, 'loaded again');
    } catch (error) {
      this.rest(row, error as Error);
    }
  }

  private rest(row: Deployed, error: Error): void {
    const { handles, table, events, time, reasonOf } = this.parts;
    const { name, version, handle } = row;
    this.forgetThoseGone();
    const backoff = this.failures.get(handle) ?? new Backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    this.failures.set(handle, backoff);
    const pauseMs = backoff.delayMs(time.monotonicNs());
    events.warn({ model: name, version, error: error.message, pauseMs }, 'model cannot be loaded again');
    const why = `cannot be loaded again: ${reasonOf(error)}`;
    table.put({
      ...row,
      state: 'unavailable',
      reason: `not available: it ${why}; requests after ${pauseMs / 1000} s try again`,
    });
    handles.drop(handle, `model ${JSON.stringify(name)} ${why}`);
    const retry = () => {
      if (table.get(name, version)?.handle !== handle) {
        this.failures.delete(handle);
        return;
      }
      handles.sleep(handle);
      table.put(row);
    };
    time.after(pauseMs, retry).unref();
  }
  private forgetThoseGone(): void {
    const there = new Set(this.parts.table.all().map((row) => row.handle));
    for (const handle of this.failures.keys()) if (!there.has(handle)) this.failures.delete(handle);
  }
}
