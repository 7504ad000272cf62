import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS } from '../../base/units.js';
import type { Time } from '../../base/world/time.js';
import type { WorkerDescription } from '../messages.js';
import { within } from '../within.js';
import { whyNotTogether } from './cluster-of-workers.js';
import type { FleetWorker } from './fleet-worker.js';

interface InitialWorkers {
  /** Workers that make up the cluster. */
  readonly present: readonly { readonly name: string; readonly description: WorkerDescription }[];
  /** Dynamic workers among them. */
  readonly dynamic: ReadonlySet<FleetWorker>;
}

/**
 * Workers that make up the cluster: all static ones that have come, and the dynamic ones that fit, as far as there is
 * room. If no static one has come, the first dynamic one sets the requirements for the others.
 */
export function initialWorkers(workers: readonly FleetWorker[], maxGpus: number | null): InitialWorkers {
  const present: { readonly name: string; readonly description: WorkerDescription }[] = [];
  const dynamic = new Set<FleetWorker>();
  let gpus = 0;
  for (const worker of workers.toSorted((a, b) => Number(a.isDynamic) - Number(b.isDynamic))) {
    const { description, isDynamic, name } = worker;
    if (description === null) continue;
    const wanted = gpus + description.gpus.length;
    const isFitting = present.length === 0 || whyNotTogether(present[0].description, description) === '';
    if (isDynamic && present.length > 0 && (!isFitting || wanted > (maxGpus ?? 0))) continue;
    if (isDynamic) dynamic.add(worker);
    gpus = wanted;
    present.push({ name, description });
  }
  return { present, dynamic };
}

/** Time for workers to come, and how many of them must. */
export interface StartupTimeout {
  /** Time after which it rejects if fewer are present; null: it waits indefinitely. */
  readonly timeoutNs: number | null;
  /** Minimum number of workers. Default: all. */
  readonly minWorkers?: number;
  /** Further time for the others once these are present. */
  readonly graceNs?: number;
}

/** Resolves when enough workers are present; more may register meanwhile. Rejects with `E_WORKER`. */
export async function enoughInTime(
  workers: readonly FleetWorker[],
  changes: Condition,
  { timeoutNs, minWorkers = workers.length, graceNs = 0 }: StartupTimeout,
  time: Time,
): Promise<void> {
  const enough = changes.holds(() => workers.filter(({ isPresent }) => isPresent).length >= minWorkers);
  if (timeoutNs === null) await enough;
  else if (!(await within(time, enough, timeoutNs))) {
    const missing = workers.filter(({ isPresent }) => !isPresent).map(({ name }) => name);
    throw new EscapementError(
      'E_WORKER',
      `no answer from ${missing.join(', ')} within ${timeoutNs / NS_PER_MS} ms: is \`escapement worker\` running there?`,
    );
  }
  const all = changes.holds(() => workers.every(({ isPresent }) => isPresent));
  if (graceNs > 0) await within(time, all, graceNs);
}

/** Waits for conditions, checked after each change. */
export class Condition {
  private readonly waiting = new Set<() => void>();

  /** Resolves when the condition holds: now, or at a later `check`. */
  holds(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition()) return;
        this.waiting.delete(look);
        resolve();
      };
      this.waiting.add(look);
      look();
    });
  }

  /** Call after a change. */
  check(): void {
    for (const look of [...this.waiting]) look();
  }
}
