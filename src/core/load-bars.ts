import { BitMatrix } from '../base/bit-matrix.js';
import { NS_PER_S } from '../base/units.js';
import type { KindBars } from './kind-bars.js';

/** Time before a LOAD that failed on the device is retried; doubles with each further failure. */
const FIRST_NS = NS_PER_S;
const LONGEST_NS = 60 * NS_PER_S;
/** Number of failed GPUs after which a model that is loaded nowhere fails its requests without trying another GPU. */
const ENOUGH = 2;

interface Bar {
  readonly model: number;
  readonly gpu: number;
  lengthNs: number;
  untilNs: number;
}

/** Models barred from GPUs: for a while after the device failed to load them, or for good where the kind is unfit. */
export class LoadBars {
  /** End of the next bar to expire; Infinity: none. */
  nextEndNs = Number.POSITIVE_INFINITY;
  /** Row = model. */
  private readonly barred: BitMatrix;
  /** By model: 1 if it may be loaded nowhere, because it is retiring or its slot is empty. */
  private readonly closed: Uint8Array;
  /** Bars in force, and ended ones not yet followed by a successful LOAD. Few: most runs have none. */
  private readonly bars: Bar[] = [];

  constructor(
    models: number,
    gpus: number,
    /** Bars by kind of GPU; null: all are of one kind. */
    private readonly kinds: KindBars | null = null,
  ) {
    this.barred = new BitMatrix(models, gpus);
    this.closed = new Uint8Array(models);
  }

  has(model: number, gpu: number): boolean {
    if (this.closed[model] === 1) return true;
    if (this.kinds?.has(model, gpu)) return true;
    return this.nextEndNs < Number.POSITIVE_INFINITY && this.barred.has(model, gpu);
  }

  /** Bars the model after a LOAD failed on the device. */
  failed(model: number, gpu: number, nowNs: number): void {
    let bar = this.find(model, gpu);
    if (bar === undefined) {
      bar = { model, gpu, lengthNs: FIRST_NS / 2, untilNs: 0 };
      this.bars.push(bar);
    }
    bar.lengthNs = Math.min(LONGEST_NS, 2 * bar.lengthNs);
    bar.untilNs = nowNs + bar.lengthNs;
    this.barred.add(model, gpu);
    this.renewNext();
  }

  /** Clears a bar after a successful LOAD, or when the GPU is replaced. */
  forget(model: number, gpu: number): void {
    if (this.bars.length === 0) return;
    const bar = this.find(model, gpu);
    if (bar === undefined) return;
    this.bars.splice(this.bars.indexOf(bar), 1);
    this.barred.delete(model, gpu);
    this.renewNext();
  }

  forgetGpu(gpu: number): void {
    for (const { model } of this.bars.filter((bar) => bar.gpu === gpu)) this.forget(model, gpu);
  }

  /** Bars the model from all GPUs. */
  close(model: number): void {
    this.closed[model] = 1;
  }

  /** Clears all bars, for a new model in the slot. */
  reopen(model: number): void {
    this.closed[model] = 0;
    for (const { gpu } of this.bars.filter((bar) => bar.model === model)) this.forget(model, gpu);
  }

  /** Lifts bars that have ended. */
  advance(nowNs: number): void {
    if (nowNs < this.nextEndNs) return;
    for (const { model, gpu, untilNs } of this.bars) if (untilNs <= nowNs) this.barred.delete(model, gpu);
    this.renewNext();
  }

  /** True if a model that no GPU holds is not worth waiting for; `gpus`: GPUs in service that might hold it. */
  isHopeless(model: number, gpus: number): boolean {
    if (this.nextEndNs === Number.POSITIVE_INFINITY || this.barred.count(model) === 0) return false;
    return this.barred.count(model) >= Math.min(ENOUGH, gpus);
  }

  private find(model: number, gpu: number): Bar | undefined {
    return this.bars.find((bar) => bar.model === model && bar.gpu === gpu);
  }

  private renewNext(): void {
    this.nextEndNs = Number.POSITIVE_INFINITY;
    for (const { model, gpu, untilNs } of this.bars)
      if (this.barred.has(model, gpu)) this.nextEndNs = Math.min(this.nextEndNs, untilNs);
  }
}
