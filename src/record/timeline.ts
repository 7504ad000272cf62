import { NS_PER_MS, NS_PER_S } from '../base/units.js';
import { type Action, INFER, LOAD } from '../core/action.js';
import type { ModelSpec } from '../core/model.js';
import type { RunObserver } from '../core/observer.js';
import { OUTCOME_OK, type Outcome, type RequestTable } from '../core/request.js';
import type { TimelineEntry, WorstMoment } from './results.js';
import { RowList } from './row-list.js';

/** Number of actions that a viewer or report can show. */
const DEFAULT_MAX_ENTRIES = 20_000;
/** Step of the search for the worst moment, ns; its slice spans this many steps. */
const MOMENT_NS = NS_PER_S / 10;
const MOMENTS = 10;
const SECOND_NS = MOMENTS * MOMENT_NS;

/** Slice of virtual time, half-open, ns; `worst`: the second in which most requests missed their SLO. */
export type TimelineSlice = readonly [fromNs: number, toNs: number] | 'worst';

interface TimelineOptions {
  readonly slice: TimelineSlice;
  readonly models: readonly ModelSpec[];
  /** End of the warm-up, from which seconds are counted. */
  readonly warmupNs: number;
  readonly maxEntries?: number;
}

/**
 * Keeps the LOADs and INFERs that overlap a slice of the run, for charts and timelines. Actions that missed their
 * window are kept with length 0; an aborted INFER lasts until its end. Actions beyond `maxEntries` are only counted,
 * which bounds memory.
 *
 * The worst second is not known before the end, so the current one is collected in addition to the worst so far. Ties
 * go to the second with more answers, then to the first.
 */
export class Timeline implements RunObserver {
  /** The current second, or the given slice. */
  private current: Slice;
  /** The worst second before; null: a slice is given. */
  private before: Slice | null;

  constructor(private readonly options: TimelineOptions) {
    const { slice, warmupNs, maxEntries = DEFAULT_MAX_ENTRIES } = options;
    const [fromNs, toNs] = slice === 'worst' ? [warmupNs, warmupNs + SECOND_NS] : slice;
    this.current = new Slice(fromNs, toNs, maxEntries);
    this.before = slice === 'worst' ? new Slice(fromNs, toNs, maxEntries) : null;
  }

  /** Number of actions of the slice beyond `maxEntries`. */
  get dropped(): number {
    return this.found.dropped;
  }

  answered({ step }: RequestTable, slot: number, outcome: Outcome, nowNs: number): void {
    if (step[slot] > 0 || this.before === null || nowNs < this.options.warmupNs) return;
    this.goOn(this.before, nowNs);
    this.current.answered(outcome !== OUTCOME_OK, nowNs);
  }

  completed(action: Action, nowNs: number): void {
    if (action.kind !== INFER && action.kind !== LOAD) return;
    if (this.before !== null) this.goOn(this.before, nowNs);
    this.current.keep(action);
    this.before?.keep(action);
  }

  /** Actions of the slice by start time; ties by GPU and lane. */
  entries(): TimelineEntry[] {
    return this.found
      .entries(this.options.models)
      .toSorted(
        (a, b) => a.beginMs - b.beginMs || a.gpu - b.gpu || a.lane.localeCompare(b.lane) || a.endMs - b.endMs,
      );
  }

  /** Moment in the slice with the most missed SLOs; null if the slice was given, or if none were missed. */
  moment(): WorstMoment | null {
    return this.found.moment();
  }

  /** Advances to the second of `nowNs`. */
  private goOn(before: Slice, nowNs: number): void {
    const { current } = this;
    if (nowNs < current.toNs) return;
    const isWorst = isWorse(current, before);
    this.before = isWorst ? current : before;
    this.current = isWorst ? before : current;
    const fromNs = current.fromNs + Math.floor((nowNs - current.fromNs) / SECOND_NS) * SECOND_NS;
    this.current.restart(fromNs, fromNs + SECOND_NS);
  }

  private get found(): Slice {
    const { current, before } = this;
    return before === null || isWorse(current, before) ? current : before;
  }
}

function isWorse(a: Slice, b: Slice): boolean {
  return a.missed > b.missed || (a.missed === b.missed && a.answers > b.answers);
}

/** Columns of an action, in one numeric array because every action of a run passes through it. */
const COLUMNS = 10;

/** Actions of a slice as rows of numbers, and the requests answered meanwhile. */
class Slice {
  answers = 0;
  missed = 0;
  dropped = 0;
  private readonly rows = new RowList(COLUMNS);
  private readonly missedAt = new Uint32Array(MOMENTS);

  constructor(
    public fromNs: number,
    public toNs: number,
    private readonly maxEntries: number,
  ) {}

  restart(fromNs: number, toNs: number): void {
    this.fromNs = fromNs;
    this.toNs = toNs;
    this.dropped = this.rows.count = this.answers = this.missed = 0;
    this.missedAt.fill(0);
  }

  answered(isMissed: boolean, nowNs: number): void {
    this.answers++;
    if (!isMissed) return;
    this.missed++;
    this.missedAt[Math.floor((nowNs - this.fromNs) / MOMENT_NS)]++;
  }

  /** Keeps an action that overlaps it. */
  keep(action: Action): void {
    const { rows } = this;
    if (action.endNs < this.fromNs || action.beginNs >= this.toNs) return;
    if (rows.count === this.maxEntries) {
      this.dropped++;
      return;
    }
    const at = rows.append();
    const { values } = rows;
    values[at] = action.gpu;
    values[at + 1] = action.kind;
    values[at + 2] = action.model;
    values[at + 3] = action.batchSize;
    values[at + 4] = action.beginNs;
    values[at + 5] = action.endNs;
    values[at + 6] = action.earliestNs;
    values[at + 7] = action.latestNs;
    values[at + 8] = action.sentNs;
    values[at + 9] = action.status;
  }

  entries(models: readonly ModelSpec[]): TimelineEntry[] {
    const rows = this.rows.from(0);
    return Array.from({ length: this.rows.count }, (_, row) => {
      const [gpu, kind, model, batch, beginNs, endNs, earliestNs, latestNs, sentNs, status] = rows.subarray(
        row * COLUMNS,
        (row + 1) * COLUMNS,
      );
      return {
        gpu,
        lane: kind === INFER ? 'EXEC' : 'WEIGHTS',
        kind: kind === INFER ? 'INFER' : 'LOAD',
        model: models[model].name,
        batch,
        beginMs: beginNs / NS_PER_MS,
        endMs: endNs / NS_PER_MS,
        earliestMs: earliestNs / NS_PER_MS,
        // An unlimited window is drawn to the end of the action.
        latestMs: (latestNs === Number.POSITIVE_INFINITY ? endNs : latestNs) / NS_PER_MS,
        sentMs: sentNs / NS_PER_MS,
        status,
      };
    });
  }

  moment(): WorstMoment | null {
    if (this.missed === 0) return null;
    const missed = Math.max(...this.missedAt);
    const fromNs = this.fromNs + this.missedAt.indexOf(missed) * MOMENT_NS;
    return { fromMs: fromNs / NS_PER_MS, toMs: (fromNs + MOMENT_NS) / NS_PER_MS, missed };
  }
}
