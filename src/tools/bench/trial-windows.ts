import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import type { RunObserver } from '../../core/observer.js';
import {
  OUTCOME_LATE,
  OUTCOME_NAMES,
  OUTCOME_OK,
  type Outcome,
  type RequestTable,
} from '../../core/request.js';
import { Histogram } from '../../record/histogram.js';

/** Figures by trial. */
interface Trials {
  readonly throughputRps: number[];
  readonly p50Ms: number[];
  readonly p99Ms: number[];
}

/**
 * Cuts a run into consecutive trials, so that none begins on an idle server. A trial starts with an answer and ends
 * with the first answer at least its length later, which starts the next trial, because answers come in batches and a
 * fixed end may split one. A machine that stalls makes a trial longer.
 */
export class TrialWindows implements RunObserver {
  /** Resolves when the last trial has ended. */
  readonly over: Promise<void>;
  /** By outcome: answers from the start of the first trial to the end of the last. */
  readonly outcomes = new Array<number>(OUTCOME_NAMES.length).fill(0);
  /** Figures of the trials that have ended. */
  private readonly ended: Trials = { throughputRps: [], p50Ms: [], p99Ms: [] };
  /** NaN before the first. */
  private startNs = Number.NaN;
  private latency = new Histogram();
  private end!: () => void;

  constructor(
    private readonly beginNs: number,
    private readonly lengthNs: number,
    private readonly trials: number,
  ) {
    this.over = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  answered(requests: RequestTable, slot: number, outcome: Outcome, nowNs: number): void {
    if (nowNs < this.beginNs || this.isOver) return;
    const isServed = outcome === OUTCOME_OK || outcome === OUTCOME_LATE;
    if (isServed) this.cutAt(nowNs);
    if (this.isOver) return;
    this.outcomes[outcome]++;
    if (isServed) this.latency.record(nowNs - requests.arrivalNs[slot]);
  }

  completed(): void {
    // Clients see answers only.
  }

  /** Share of the answers without a result; 0 if nothing was answered. */
  get failedShare(): number {
    const all = this.outcomes.reduce((sum, count) => sum + count, 0);
    const served = this.outcomes[OUTCOME_OK] + this.outcomes[OUTCOME_LATE];
    return all === 0 ? 0 : 1 - served / all;
  }

  /** Null if not all trials have ended. */
  results(): Trials | null {
    return this.isOver ? this.ended : null;
  }

  private get isOver(): boolean {
    return this.ended.throughputRps.length === this.trials;
  }

  private cutAt(nowNs: number): void {
    if (Number.isNaN(this.startNs)) this.startNs = nowNs;
    const tookNs = nowNs - this.startNs;
    if (tookNs < this.lengthNs) return;
    this.ended.throughputRps.push((this.latency.count * NS_PER_S) / tookNs);
    this.ended.p50Ms.push(this.latency.percentile(50) / NS_PER_MS);
    this.ended.p99Ms.push(this.latency.percentile(99) / NS_PER_MS);
    this.startNs = nowNs;
    this.latency = new Histogram();
    if (this.isOver) this.end();
  }
}
