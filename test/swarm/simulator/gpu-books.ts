import {
  type Action,
  INFER,
  LOAD,
  STATUS_ABORTED,
  STATUS_INFER_WEIGHTS_CHANGED,
  STATUS_LOAD_WEIGHTS_CHANGED,
  STATUS_OK,
  UNLOAD,
} from '../../../src/core/action.js';
import type { ModelSpec } from '../../../src/core/model.js';

/** What is to hold of every GPU. */
interface Limits {
  readonly pages: number;
  readonly oneLane: boolean;
  readonly overheadNs: number;
}

/** What one GPU holds and does, as its actions and their results tell. Methods return what does not hold; empty: all does. */
export class GpuBooks {
  private readonly held: Uint8Array;
  private readonly warm: Uint8Array;
  private takenPages = 0;
  /** By lane: when what ran last has ended. */
  private readonly freeNs = [0, 0];

  constructor(
    private readonly limits: Limits,
    private readonly models: readonly ModelSpec[],
  ) {
    this.held = new Uint8Array(models.length);
    this.warm = new Uint8Array(models.length);
  }

  decided({ kind, model, batchIndex, batchSize, count }: Action): string {
    const { pages, batchSizes } = this.models[model];
    switch (kind) {
      case LOAD:
        if (this.held[model] === 1) return 'no model is loaded twice';
        this.held[model] = 1;
        this.takenPages += pages;
        return this.takenPages <= this.limits.pages ? '' : 'what a GPU holds fits into its memory';
      case UNLOAD:
        if (this.warm[model] === 0) return 'only what is there is evicted';
        this.remove(model);
        return '';
      case INFER: {
        if (this.warm[model] === 0) return 'an INFER goes to a GPU that holds its model';
        const smaller = batchIndex === 0 ? 0 : batchSizes[batchIndex - 1];
        const fits = batchSize === batchSizes[batchIndex] && count <= batchSize && count > smaller;
        return fits ? '' : 'a batch is never empty, and runs in the smallest size that holds it';
      }
      default:
        return '';
    }
  }

  /** The GPU has gone, with what it held. */
  gone(): void {
    this.held.fill(0);
    this.warm.fill(0);
    this.takenPages = 0;
  }

  completed({ kind, model, status, beginNs, endNs, earliestNs, latestNs }: Action): string {
    if (kind === LOAD && status === STATUS_OK) this.warm[model] = 1;
    if (kind === LOAD && status !== STATUS_OK) this.remove(model);
    const ran = (RAN.includes(status) && (kind === LOAD || kind === INFER)) || status === STATUS_ABORTED;
    if (!ran) return beginNs === endNs ? '' : 'what does not run takes no time';
    if (endNs < beginNs || !Number.isSafeInteger(beginNs) || !Number.isSafeInteger(endNs))
      return 'time is a whole number of nanoseconds, and passes';
    if (status !== STATUS_ABORTED && (beginNs < earliestNs || beginNs - this.limits.overheadNs > latestNs))
      return 'an action begins within its window';
    if (endNs === beginNs) return '';
    const lane = kind === LOAD && !this.limits.oneLane ? 1 : 0;
    const isFree = beginNs >= this.freeNs[lane];
    this.freeNs[lane] = endNs;
    return isFree ? '' : 'each lane runs one thing at a time';
  }

  private remove(model: number): void {
    if (this.held[model] === 1) this.takenPages -= this.models[model].pages;
    this.held[model] = 0;
    this.warm[model] = 0;
  }
}

/** Statuses of actions that did run on their lane. */
const RAN = [STATUS_OK, STATUS_LOAD_WEIGHTS_CHANGED, STATUS_INFER_WEIGHTS_CHANGED];
