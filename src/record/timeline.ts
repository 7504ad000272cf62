import { NS_PER_MS, NS_PER_S } from '../base/units.js';
import { type Action, INFER, LOAD } from '../core/action.js';
import type { ModelSpec } from '../core/model.js';
import type { RunObserver } from '../core/observer.js';
import { OUTCOME_OK, type Outcome, type RequestTable } from '../core/request.js';
import type { TimelineEntry, WorstMoment } from './results.js';
import { RowList } from './row-list.js';

/** Number of actions that a viewer or report shows without trouble. */
const DEFAULT_MAX_ENTRIES = 20_000;
/** Step of the search for the worst moment, ns; its slice spans this many steps. */
const MOMENT_NS = NS_PER_S / 10;
const MOMENTS = 10;
const SECOND_NS = MOMENTS * MOMENT_NS;

/** Slice of virtual time, half-open, ns; `worst`: the second in which the most requests missed their SLO. */
export type TimelineSlice = readonly [fromNs: number, toNs: number] | 'worst';

interface TimelineOptions {
  readonly slice: TimelineSlice;
  readonly models: readonly ModelSpec[];
  /** The worst moment cannot begin earlier, ns. */
  readonly warmupNs?: number;
  readonly maxEntries?: number;
}

/**
 * Keeps the LOADs and INFERs that overlap a slice of the run, for charts and timelines. Actions that missed their
 * window are kept with length 0; an aborted INFER lasts until its end. Beyond `maxEntries` further actions are only
 * counted, so that a slice chosen too long costs no memory.
 *
 * The worst second is not known before the end: the current one is collected next to the worst so far. Among seconds
 * with equally many missed SLOs, the one with the most answers wins, then the first.
 */
export class Timeline implements RunObserver {
  private readonly toNs: number;
  private current: Second;
  private worst: Second;

  constructor(private readonly options: TimelineOptions) {
    const { slice, warmupNs = 0, maxEntries = DEFAULT_MAX_ENTRIES } = options;
    const [fromNs, toNs] = slice === 'worst' ? [warmupNs, Number.POSITIVE_INFINITY] : slice;
    this.toNs = toNs;
    this.current = new Second(fromNs, maxEntries);
    this.worst = slice === 'worst' ? new Second(fromNs, maxEntries) : this.current;
  }

  /** Number of actions of the slice beyond `maxEntries`. */
  get dropped(): number {
    return this.worse().dropped;
  }

  answered(_requests: RequestTable, _slot: number, outcome: Outcome, nowNs: number): void {
    if (this.current !== this.worst) this.at(nowNs).count(outcome !== OUTCOME_OK, nowNs);
  }

  completed(action: Action, nowNs: number): void {
    if (action.kind !== INFER && action.kind !== LOAD) return;
    if (this.current === this.worst) {
      if (action.endNs >= this.current.fromNs && action.beginNs < this.toNs) this.current.keep(action);
      return;
    }
    const current = this.at(nowNs);
    if (action.endNs >= current.fromNs) current.keep(action);
    if (action.beginNs < this.worst.fromNs + SECOND_NS && action.endNs >= this.worst.fromNs)
      this.worst.keep(action);
  }

  /** Actions of the slice by start time; ties by GPU and lane. */
  entries(): TimelineEntry[] {
    return this.worse()
      .entries(this.options.models)
      .toSorted(
        (a, b) => a.beginMs - b.beginMs || a.gpu - b.gpu || a.lane.localeCompare(b.lane) || a.endMs - b.endMs,
      );
  }

  /** Moment in the slice with the most missed SLOs; null if the slice was given, or if none were missed. */
  moment(): WorstMoment | null {
    return this.worse().moment();
  }

  /** The second in which `nowNs` lies. */
  private at(nowNs: number): Second {
    const { current } = this;
    const ahead = Math.floor((nowNs - current.fromNs) / SECOND_NS);
    if (ahead < 1) return current;
    const next = this.worse() === current ? this.worst : current;
    this.worst = this.worse();
    this.current = next.restart(current.fromNs + ahead * SECOND_NS);
    return this.current;
  }

  private worse(): Second {
    return this.current.isWorseThan(this.worst) ? this.current : this.worst;
  }
}

/** Columns of an action. All are in one numeric array, since every action of a run passes through it. */
const COLUMNS = 10;

/** Actions of a slice as rows of numbers, and the requests answered meanwhile. */
class Second {
  dropped = 0;
  private readonly rows = new RowList(COLUMNS);
  private readonly row = new Float64Array(COLUMNS);
  private answers = 0;
  private missed = 0;
  private readonly missedAt = new Uint32Array(MOMENTS);

  constructor(
    public fromNs: number,
    private readonly maxEntries: number,
  ) {}

  restart(fromNs: number): this {
    this.fromNs = fromNs;
    this.dropped = this.rows.count = this.answers = this.missed = 0;
    this.missedAt.fill(0);
    return this;
  }

  isWorseThan(other: Second): boolean {
    return this.missed > other.missed || (this.missed === other.missed && this.answers > other.answers);
  }

  count(isMissed: boolean, nowNs: number): void {
    if (nowNs < this.fromNs) return;
    this.answers++;
    if (!isMissed) return;
    this.missed++;
    this.missedAt[Math.floor((nowNs - this.fromNs) / MOMENT_NS)]++;
  }

  keep(action: Action): void {
    const { row, rows } = this;
    if (rows.count === this.maxEntries) {
      this.dropped++;
      return;
    }
    row[0] = action.gpu;
    row[1] = action.kind;
    row[2] = action.model;
    row[3] = action.batchSize;
    row[4] = action.beginNs;
    row[5] = action.endNs;
    row[6] = action.earliestNs;
    row[7] = action.latestNs;
    row[8] = action.sentNs;
    row[9] = action.status;
    rows.push(row);
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
