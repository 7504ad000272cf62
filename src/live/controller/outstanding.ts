import type { Action } from '../../core/action.js';
import { AscendingIds } from '../ascending-ids.js';

/** The actions that were sent and have no result yet. */
export class Outstanding {
  private readonly actions = new AscendingIds<Action>();

  add(action: Action): void {
    this.actions.add(action.id, action);
  }

  /** Takes the action out; null if it was given up before. */
  take(id: number): Action | null {
    return this.actions.take(id);
  }

  /** Takes out all that were sent to the GPU, oldest first. */
  takeAll(gpu: number): Action[] {
    const taken = [...this.actions].filter((action) => action.gpu === gpu);
    for (const { id } of taken) this.actions.take(id);
    return taken;
  }

  /** GPUs with an action whose result is overdue by more than `graceNs`, in the order they were sent. */
  overdueGpus(nowNs: number, graceNs: number): number[] {
    const gpus = new Set<number>();
    for (const action of this.actions) {
      if (overdueAtNs(action) + graceNs < nowNs) gpus.add(action.gpu);
    }
    return [...gpus];
  }
}

/** When a result should be there at the latest, if the action took ten times as long as it was expected to. */
function overdueAtNs(action: Action): number {
  const startNs = Number.isFinite(action.latestNs) ? action.latestNs : action.expectedEndNs;
  // An UNLOAD is expected to end at 0: before everything else.
  return Math.max(startNs, action.sentNs) + 10 * action.expectedDurationNs;
}
