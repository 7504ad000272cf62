import { OUTCOME_NAMES, OUTCOME_OK, type Outcome, type RequestTable } from '../../../core/request.js';
import { SecondBins } from './second-bins.js';

/** Quantities counted in each second. */
export const ARRIVED = 0;
export const GOOD = 1;
export const FAILED = 2;
export type Counted = 0 | 1 | 2;
const COUNTED = 3;

/**
 * Answers of the last seconds, by model and in total. A request counts as arrived in the second of its arrival once it
 * is answered: the request table has the others.
 */
export class RequestActivity {
  /** Since the start, by outcome. */
  readonly totals = new Float64Array(OUTCOME_NAMES.length);
  private readonly all: SecondBins;
  private readonly byModel: SecondBins;

  constructor(models: number, seconds: number, modelSeconds: number) {
    this.all = new SecondBins(COUNTED, seconds);
    this.byModel = new SecondBins(COUNTED * models, modelSeconds);
  }

  answered(requests: RequestTable, slot: number, outcome: Outcome, nowNs: number): void {
    const counted = outcome === OUTCOME_OK ? GOOD : FAILED;
    const model = requests.model[slot] * COUNTED;
    const arrivalNs = requests.arrivalNs[slot];
    this.totals[outcome]++;
    this.all.add(ARRIVED, arrivalNs, 1);
    this.all.add(counted, nowNs, 1);
    this.byModel.add(model + ARRIVED, arrivalNs, 1);
    this.byModel.add(model + counted, nowNs, 1);
  }

  inSecond(counted: Counted, second: number): number {
    return this.all.at(counted, second);
  }

  /** From `fromSecond` to `toSecond`, inclusive. */
  inAll(counted: Counted, fromSecond: number, toSecond: number): number {
    return this.all.sum(counted, fromSecond, toSecond);
  }

  ofModel(model: number, counted: Counted, fromSecond: number, toSecond: number): number {
    return this.byModel.sum(model * COUNTED + counted, fromSecond, toSecond);
  }
}
