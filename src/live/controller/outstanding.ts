import type { Action } from '../../core/action.js';

/**
 * The actions that were sent and have no result yet, by id. Ids only ever grow, so those of one GPU that are
 * looked for first are the oldest.
 */
export class Outstanding {
  private readonly actions = new Map<number, Action>();

  add(action: Action): void {
    this.actions.set(action.id, action);
  }

  /** Takes the action out; undefined if it was given up before. */
  take(id: number): Action | undefined {
    const action = this.actions.get(id);
    if (action !== undefined) this.actions.delete(id);
    return action;
  }

  /** Takes out all that were sent to the GPU, oldest first. */
  takeAll(gpu: number): Action[] {
    const taken = [...this.actions.values()].filter((action) => action.gpu === gpu);
    for (const { id } of taken) this.actions.delete(id);
    return taken;
  }

  /** GPUs with an action whose result is overdue by more than `graceNs`, in the order they were sent. */
  overdueGpus(nowNs: number, graceNs: number): number[] {
    const gpus = new Set<number>();
    for (const action of this.actions.values()) {
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
