import { type Action, INFER } from './action.js';

const INITIAL_CAPACITY = 16;

/** Actions waiting for one lane, by earliest start; ties are first come, first served. */
export class LaneQueue {
  private actions: (Action | null)[] = new Array(INITIAL_CAPACITY).fill(null);
  private earliest = new Float64Array(INITIAL_CAPACITY);
  private latest = new Float64Array(INITIAL_CAPACITY);
  private first = 0;
  private length = 0;

  get size(): number {
    return this.length;
  }

  /** First action; the queue must not be empty. */
  get head(): Action {
    return this.actions[this.first] as Action;
  }

  /** Earliest start of the first action, Infinity when empty. */
  get headEarliestNs(): number {
    return this.length === 0 ? Number.POSITIVE_INFINITY : this.earliest[this.first];
  }

  get headLatestNs(): number {
    return this.latest[this.first];
  }

  /** Inserts an action, searching from the back: actions almost always arrive in order of their windows. */
  push(action: Action, earliestNs: number, latestNs: number): void {
    if (this.length === this.actions.length) this.grow();
    const mask = this.actions.length - 1;
    let position = this.length++;
    while (position > 0) {
      const before = (this.first + position - 1) & mask;
      if (this.earliest[before] <= earliestNs) break;
      const at = (this.first + position) & mask;
      this.actions[at] = this.actions[before];
      this.earliest[at] = this.earliest[before];
      this.latest[at] = this.latest[before];
      position--;
    }
    const at = (this.first + position) & mask;
    this.actions[at] = action;
    this.earliest[at] = earliestNs;
    this.latest[at] = latestNs;
  }

  /** Removes and returns the first action; the queue must not be empty. */
  shift(): Action {
    const action = this.actions[this.first] as Action;
    this.actions[this.first] = null;
    this.first = (this.first + 1) & (this.actions.length - 1);
    this.length--;
    return action;
  }

  /** Removes and returns the INFERs, in order; a shared lane keeps its LOADs. */
  removeInfers(): Action[] {
    const removed: Action[] = [];
    const mask = this.actions.length - 1;
    let kept = 0;
    for (let i = 0; i < this.length; i++) {
      const from = (this.first + i) & mask;
      const action = this.actions[from] as Action;
      this.actions[from] = null;
      if (action.kind === INFER) {
        removed.push(action);
        continue;
      }
      const to = (this.first + kept++) & mask;
      this.actions[to] = action;
      this.earliest[to] = this.earliest[from];
      this.latest[to] = this.latest[from];
    }
    this.length = kept;
    return removed;
  }

  clear(): void {
    this.actions.fill(null);
    this.length = 0;
  }

  private grow(): void {
    const before = this.actions.length;
    const actions: (Action | null)[] = new Array(before * 2).fill(null);
    const earliest = new Float64Array(before * 2);
    const latest = new Float64Array(before * 2);
    for (let i = 0; i < this.length; i++) {
      const from = (this.first + i) & (before - 1);
      actions[i] = this.actions[from];
      earliest[i] = this.earliest[from];
      latest[i] = this.latest[from];
    }
    this.actions = actions;
    this.earliest = earliest;
    this.latest = latest;
    this.first = 0;
  }
}
