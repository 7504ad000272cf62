import { NS_PER_MS } from '../base/units.js';
import { type Action, INFER, LOAD } from '../core/action.js';
import type { ModelSpec } from '../core/model.js';
import type { RunObserver } from '../core/observer.js';
import type { TimelineEntry } from './results.js';

/** As many actions as a viewer and a report can show without trouble. */
const DEFAULT_MAX_ENTRIES = 20_000;

interface TimelineOptions {
  /** Slice of virtual time, half-open, ns. */
  readonly fromNs: number;
  readonly toNs: number;
  readonly models: readonly ModelSpec[];
  readonly maxEntries?: number;
}

/**
 * Keeps the LOADs and INFERs that overlap a slice of the run, for charts and timelines. Actions that
 * missed their window are kept too, with the length 0; an INFER that was aborted lasts until its end. Beyond
 * `maxEntries` further actions are only counted, so that a slice chosen too long costs no memory.
 */
export class Timeline implements RunObserver {
  /** Actions of the slice that found no room. */
  dropped = 0;
  private readonly collected: TimelineEntry[] = [];
  private readonly maxEntries: number;

  constructor(private readonly options: TimelineOptions) {
    this.maxEntries = options.maxEntries ?? DEFAULT_MAX_ENTRIES;
  }

  answered(): void {}

  completed(action: Action): void {
    if (action.kind !== INFER && action.kind !== LOAD) return;
    if (action.endNs < this.options.fromNs || action.beginNs >= this.options.toNs) return;
    if (this.collected.length === this.maxEntries) this.dropped++;
    else this.collected.push(this.entryOf(action));
  }

  /** The slice by begin of the actions; equal begins by GPU and lane. */
  entries(): TimelineEntry[] {
    return this.collected.toSorted(
      (a, b) => a.beginMs - b.beginMs || a.gpu - b.gpu || a.lane.localeCompare(b.lane) || a.endMs - b.endMs,
    );
  }

  private entryOf(action: Action): TimelineEntry {
    const infer = action.kind === INFER;
    // An unlimited window is drawn to the end of the action.
    const latestNs = action.latestNs === Number.POSITIVE_INFINITY ? action.endNs : action.latestNs;
    return {
      gpu: action.gpu,
      lane: infer ? 'EXEC' : 'WEIGHTS',
      kind: infer ? 'INFER' : 'LOAD',
      model: this.options.models[action.model].name,
      batch: action.batchSize,
      beginMs: action.beginNs / NS_PER_MS,
      endMs: action.endNs / NS_PER_MS,
      earliestMs: action.earliestNs / NS_PER_MS,
      latestMs: latestNs / NS_PER_MS,
      sentMs: action.sentNs / NS_PER_MS,
      status: action.status,
    };
  }
}
