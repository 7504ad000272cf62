import { BitMatrix } from '../base/bit-matrix.js';
import { grown } from '../base/grown.js';
import { timesOfBucket } from './lengths.js';
import { type ModelSpec, mayBeOn, timesOn } from './model.js';

/**
 * Kinds of GPUs that a model is not loaded onto, where there are several: they do not have it, its weights do not fit, or
 * every request for it would be late there while another kind is fast enough.
 */
export class KindBars {
  /** Row = model. */
  private readonly barred: BitMatrix;
  /** By model: longest SLO of any request for it; 0: no request yet. */
  private longestSloNs: Float64Array;

  constructor(
    private readonly models: readonly ModelSpec[],
    /** Kind of each GPU, and the pages of a GPU of each kind. */
    private readonly kindOf: Uint8Array,
    private readonly pages: readonly number[],
  ) {
    this.barred = new BitMatrix(models.length, pages.length);
    this.longestSloNs = new Float64Array(models.length);
    for (let model = 0; model < models.length; model++) this.put(model);
  }

  /** Appends models, up to this number. */
  grow(models: number): void {
    this.barred.grow(models);
    this.longestSloNs = grown(this.longestSloNs, models);
  }

  has(model: number, gpu: number): boolean {
    return this.barred.has(model, this.kindOf[gpu]);
  }

  hasKind(model: number, kind: number): boolean {
    return this.barred.has(model, kind);
  }

  /** Resets the bars for a new model in the slot. */
  put(model: number): void {
    this.longestSloNs[model] = 0;
    this.renew(model);
  }

  /** Records a request for the model. */
  offered(model: number, sloNs: number): void {
    if (sloNs <= this.longestSloNs[model]) return;
    this.longestSloNs[model] = sloNs;
    this.renew(model);
  }

  private renew(model: number): void {
    const { barred, pages } = this;
    barred.clear(model);
    let isServed = false;
    for (let kind = 0; kind < pages.length; kind++) {
      if (!mayBeOn(this.models[model], kind, pages[kind])) barred.add(model, kind);
      else if (this.isFastEnough(model, kind)) isServed = true;
    }
    if (!isServed) return;
    for (let kind = 0; kind < pages.length; kind++)
      if (!this.isFastEnough(model, kind)) barred.add(model, kind);
  }

  private isFastEnough(model: number, kind: number): boolean {
    const sloNs = this.longestSloNs[model];
    return sloNs === 0 || timesOfBucket(timesOn(this.models[model], kind), 0)[0] <= sloNs;
  }
}
