import { LOAD, STATUS_OK, UNLOAD } from '../core/action.js';
import { RowRing } from './row-ring.js';
import { ACTION, ACTION_COLUMNS } from './run-rows.js';

/** Number of LOADs kept longer than the rest. */
const MOST_LOADS = 4096;
/** More models than any cluster has. */
const MODELS = 2 ** 24;

/**
 * Latest actions of a run as rows of `ACTION`, plus the LOADs of all models that GPUs hold, without which warm and cold
 * models would look alike. Memory is bounded.
 */
export class RecentActions {
  private readonly latest: RowRing;
  /** By GPU and model, oldest first. */
  private readonly loads = new Map<number, Float64Array>();

  constructor(capacity: number) {
    this.latest = new RowRing(ACTION_COLUMNS, capacity);
  }

  /** Adds a row, or replaces the one with its id. */
  put(row: ArrayLike<number>): void {
    this.latest.put(row);
    const kind = row[ACTION.kind];
    if ((kind !== LOAD && kind !== UNLOAD) || row[ACTION.status] !== STATUS_OK) return;
    const { loads } = this;
    const instance = row[ACTION.gpu] * MODELS + row[ACTION.model];
    loads.delete(instance);
    if (kind === LOAD) loads.set(instance, Float64Array.from(row));
    if (loads.size <= MOST_LOADS) return;
    for (const oldest of loads.keys()) {
      loads.delete(oldest);
      return;
    }
  }

  /** Sets the end of an action; false if its row is no longer there. */
  end(id: number, result: { beginNs: number; endNs: number; handledNs: number; status: number }): boolean {
    const row = this.latest.row(id);
    if (row === null) return false;
    row[ACTION.beginNs] = result.beginNs;
    row[ACTION.endNs] = result.endNs;
    row[ACTION.handledNs] = result.handledNs;
    row[ACTION.status] = result.status;
    this.put(row);
    return true;
  }

  /** A copy of all rows, in order of id. */
  all(): Float64Array<ArrayBuffer> {
    const old = [...this.loads.values()].filter((row) => this.latest.row(row[ACTION.id]) === null);
    old.sort((a, b) => a[ACTION.id] - b[ACTION.id]);
    const latest = this.latest.all();
    const rows = new Float64Array(old.length * ACTION_COLUMNS + latest.length);
    for (const [i, row] of old.entries()) rows.set(row, i * ACTION_COLUMNS);
    rows.set(latest, old.length * ACTION_COLUMNS);
    return rows;
  }

  /** A copy of the rows with these ids, except those no longer there. */
  pick(ids: readonly number[]): Float64Array<ArrayBuffer> {
    return this.latest.pick(ids);
  }
}
