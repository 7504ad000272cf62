import { NS_PER_MS } from '../../../src/base/units.js';
import type { Profile } from '../../../src/config/profile.js';
import { type Action, INFER, STATUS_OK } from '../../../src/core/action.js';
import type { RunObserver } from '../../../src/core/observer.js';
import { summarize } from '../../../src/live/models/measure/until-stable.js';
import type { MachineDelays } from './subject.js';

/** Fewer INFERs of a kind say too little of it. */
const LEAST_RUNS = 20;

/** What live runs show that a profile alone does not: how INFERs go next to a server's other threads. */
export class ServiceTimes implements RunObserver {
  /** From the end of an INFER to the begin of one that waited for it. */
  private readonly gaps: number[] = [];
  private readonly there: number[] = [];
  private readonly back: number[] = [];
  /** By model and batch size: durations of INFERs after one of the same model, and after another's. */
  private readonly same: number[][][] = [];
  private readonly other: number[][][] = [];
  private lastEndNs = 0;
  private lastModel = -1;

  answered(): void {
    // Only actions are looked at.
  }

  completed({ kind, status, model, batchIndex, sentNs, beginNs, endNs }: Action, nowNs: number): void {
    if (kind !== INFER || status !== STATUS_OK) return;
    const byModel = model === this.lastModel ? this.same : this.other;
    byModel[model] ??= [];
    byModel[model][batchIndex] ??= [];
    byModel[model][batchIndex].push(endNs - beginNs);
    this.lastModel = model;
    // A new run starts its clock again.
    if (sentNs < this.lastEndNs && beginNs >= this.lastEndNs) this.gaps.push(beginNs - this.lastEndNs);
    else this.there.push(beginNs - sentNs);
    this.back.push(nowNs - endNs);
    this.lastEndNs = endNs;
  }

  /**
   * Between two INFERs that wait for each other lies the overhead; there and back, an INFER on an idle lane takes two
   * delays more.
   */
  delays(): MachineDelays {
    const overheadNs = trimmedMean(this.gaps);
    const wayNs = trimmedMean(this.there) + trimmedMean(this.back) - overheadNs;
    return { delayNs: Math.max(0, wayNs / 2), overheadNs };
  }

  /** The profile of a model with the durations that were seen. Batch sizes that were rare follow the others. */
  profile(profile: Profile, model: number): Profile {
    const seen = profile.batches.map((batch, batchIndex) => ({
      batch,
      same: this.same[model]?.[batchIndex] ?? [],
      other: this.other[model]?.[batchIndex] ?? [],
    }));
    const known = seen.filter(({ same, other }) => same.length + other.length >= LEAST_RUNS);
    const ratios = known.map(
      ({ batch, same, other }) => summarize([...same, ...other]).medianMs / batch.medianMs,
    );
    const ratio = ratios.length === 0 ? 1 : ratios.reduce((sum, one) => sum + one, 0) / ratios.length;
    return {
      ...profile,
      batches: seen.map(({ batch, same, other }) => {
        if (same.length + other.length < LEAST_RUNS) return scaled(batch, ratio);
        const switchNs = switchOf(same, other);
        const durations = summarize([...same, ...other.map((ns) => Math.max(1, ns - switchNs))]);
        return { batch: batch.batch, ...durations, afterOtherMs: durations.medianMs + switchNs / NS_PER_MS };
      }),
    };
  }
}

/** What an INFER takes longer after another model; 0 where one of the two was rare. */
function switchOf(same: readonly number[], other: readonly number[]): number {
  if (same.length < LEAST_RUNS || other.length < LEAST_RUNS) return 0;
  return Math.max(0, trimmedMean(other) - trimmedMean(same));
}

function scaled(batch: Profile['batches'][number], ratio: number): Profile['batches'][number] {
  const { batch: size, runs, ...times } = batch;
  const entries = Object.entries(times).map(([key, ms]) => [key, ms * ratio]);
  return { batch: size, ...(runs === undefined ? {} : { runs }), ...Object.fromEntries(entries) };
}

/** Without the outermost 2 % on both sides: a hiccup of the machine is no property of it. */
function trimmedMean(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const cut = Math.floor(0.02 * sorted.length);
  const kept = sorted.slice(cut, sorted.length - cut);
  return kept.length === 0 ? 0 : kept.reduce((sum, value) => sum + value, 0) / kept.length;
}
