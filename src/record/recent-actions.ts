import { LOAD, STATUS_OK, UNLOAD } from '../core/action.js';
import { RowRing } from './row-list.js';
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
  /** By GPU and model, oldest first: a LOAD, and the number of the change that added it. */
  private readonly loads = new Map<number, { readonly row: Float64Array; readonly mark: number }>();

  constructor(capacity: number) {
    this.latest = new RowRing(ACTION_COLUMNS, capacity);
  }

  /** Adds a row, or replaces the one with its id. `mark` as of `RowRing`. */
  put(row: ArrayLike<number>, mark = 0): void {
    this.latest.put(row, mark);
    const kind = row[ACTION.kind];
    if ((kind !== LOAD && kind !== UNLOAD) || row[ACTION.status] !== STATUS_OK) return;
    const { loads } = this;
    const instance = row[ACTION.gpu] * MODELS + row[ACTION.model];
    loads.delete(instance);
    if (kind === LOAD) loads.set(instance, { row: Float64Array.from(row), mark });
    if (loads.size <= MOST_LOADS) return;
    for (const oldest of loads.keys()) {
      loads.delete(oldest);
      return;
    }
  }

  /** Sets the end of an action, if its row is still there. */
  end(
    id: number,
    result: { beginNs: number; endNs: number; handledNs: number; status: number },
    mark = 0,
  ): void {
    const row = this.latest.row(id);
    if (row === null) return;
    row[ACTION.beginNs] = result.beginNs;
    row[ACTION.endNs] = result.endNs;
    row[ACTION.handledNs] = result.handledNs;
    row[ACTION.status] = result.status;
    this.put(row, mark);
  }

  /** Copies of the rows that changed after `mark`, at most the `most` latest and older LOADs, in order of id. */
  since(mark: number, most?: number): Float64Array[] {
    const old = [...this.loads.values()]
      .filter((load) => load.mark > mark && this.latest.row(load.row[ACTION.id]) === null)
      .map(({ row }) => row);
    return [...old.sort((a, b) => a[ACTION.id] - b[ACTION.id]), ...this.latest.since(mark, most)];
  }
}
