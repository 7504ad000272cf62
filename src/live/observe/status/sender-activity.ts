import type { Action } from '../../../core/action.js';
import {
  OUTCOME_LATE,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  type Outcome,
  type RequestTable,
} from '../../../core/request.js';
import { LIMIT_NONE, LIMIT_RATE } from '../../../core/tenants.js';
import { SecondBins } from './second-bins.js';

/** Quantities counted in each second for a class or a tenant; the last is GPU time, ns. */
const ARRIVED = 0;
const GOOD = 1;
const FAILED = 2;
const OVER_RATE = 3;
const OVER_SHARE = 4;
const REFUSED = 5;
const GPU_NS = 6;
const COUNTED = 7;

/** Sums of a window. */
export interface SenderCounts {
  readonly arrived: number;
  readonly good: number;
  readonly failed: number;
  readonly overRate: number;
  readonly overShare: number;
  /** By admission or policy. */
  readonly refused: number;
  readonly gpuNs: number;
}

/** Recent answers by class or tenant. Requests count in the second of their arrival, once answered. */
export class SenderActivity {
  private readonly bins: SecondBins;

  constructor(
    readonly length: number,
    seconds: number,
  ) {
    this.bins = new SecondBins(COUNTED * length, seconds);
  }

  answered(
    { arrivalNs, limit }: RequestTable,
    slot: number,
    sender: number,
    outcome: Outcome,
    nowNs: number,
    action: Action | null,
  ): void {
    const { bins } = this;
    const first = sender * COUNTED;
    bins.add(first + ARRIVED, arrivalNs[slot], 1);
    bins.add(first + (outcome === OUTCOME_OK ? GOOD : FAILED), nowNs, 1);
    if (outcome === OUTCOME_REJECTED) {
      const why = limit[slot] === LIMIT_NONE ? REFUSED : limit[slot] === LIMIT_RATE ? OVER_RATE : OVER_SHARE;
      bins.add(first + why, nowNs, 1);
    }
    // The requests of a batch share its time evenly.
    if (action !== null && (outcome === OUTCOME_OK || outcome === OUTCOME_LATE))
      bins.add(first + GPU_NS, nowNs, (action.endNs - action.beginNs) / action.count);
  }

  counts(sender: number, fromSecond: number, toSecond: number): SenderCounts {
    const of = (counted: number) => this.bins.sum(sender * COUNTED + counted, fromSecond, toSecond);
    return {
      arrived: of(ARRIVED),
      good: of(GOOD),
      failed: of(FAILED),
      overRate: of(OVER_RATE),
      overShare: of(OVER_SHARE),
      refused: of(REFUSED),
      gpuNs: of(GPU_NS),
    };
  }
}
