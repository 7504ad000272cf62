import type { Action } from '../../core/action.js';
import { AscendingIds } from '../ascending-ids.js';

/** The actions that were sent and have no result yet. */
export class Outstanding {
  private readonly ofGpu: AscendingIds<Action>[] = [];

  add(action: Action): void {
    const { gpu, id } = action;
    this.ofGpu[gpu] ??= new AscendingIds();
    this.ofGpu[gpu].add(id, action);
  }

  /** Takes out the action that the GPU was sent; null if it was given up before. */
  take(gpu: number, id: number): Action | null {
    return this.ofGpu[gpu]?.take(id) ?? null;
  }

  /** Takes out all that were sent to the GPU, oldest first. */
  takeAll(gpu: number): Action[] {
    const taken = [...(this.ofGpu[gpu] ?? [])];
    this.ofGpu[gpu]?.clear();
    return taken;
  }

  /** Those whose results are overdue by more than `graceNs`, even if they took so many `times` as long as expected. */
  overdue(nowNs: number, times: number, graceNs: number): Action[] {
    return this.ofGpu.flatMap((actions) =>
      [...actions].filter((action) => dueNs(action, times) + graceNs < nowNs),
    );
  }
}

function dueNs(action: Action, times: number): number {
  const startNs = Number.isFinite(action.latestNs) ? action.latestNs : action.expectedEndNs;
  // An UNLOAD is expected to end at 0: before everything else.
  return Math.max(startNs, action.sentNs) + times * action.expectedDurationNs;
}
