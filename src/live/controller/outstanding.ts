import type { Action } from '../../core/action.js';
import { AscendingIds } from '../ascending-ids.js';

/** Actions sent without a result. */
export class Outstanding {
  private readonly ofGpu: AscendingIds<Action>[] = [];

  add(action: Action): void {
    const { gpu, id } = action;
    this.ofGpu[gpu] ??= new AscendingIds();
    this.ofGpu[gpu].add(id, action);
  }

  /** Removes and returns the action sent to the GPU; null if it was given up before. */
  take(gpu: number, id: number): Action | null {
    return this.ofGpu[gpu]?.take(id) ?? null;
  }

  /** Removes and returns all actions sent to the GPU, oldest first. */
  takeAll(gpu: number): Action[] {
    const taken = [...(this.ofGpu[gpu] ?? [])];
    this.ofGpu[gpu]?.clear();
    return taken;
  }

  /** Actions whose results are overdue by more than `graceNs`, even at `times` the expected duration. */
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
