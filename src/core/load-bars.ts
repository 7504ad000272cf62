import { BitMatrix } from '../base/bit-matrix.js';
import { grown } from '../base/grown.js';
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

/**
 * Models barred from GPUs: for a while after the device failed to load them, or for good where the kind is unfit or the
 * worker does not have them.
 */
export class LoadBars {
  /** End of the next bar to expire; Infinity: none. */
  nextEndNs = Number.POSITIVE_INFINITY;
  /** Row = model. */
  private readonly barred: BitMatrix;
  /** Row = model: GPUs whose worker does not have it. Null: all workers have all models. */
  private absent: BitMatrix | null = null;
  /** True if any bar other than those by kind may be in force. */
  private isAny = false;
  /** By model: 1 if it may be loaded nowhere, because it is retiring or its slot is empty. */
  private closed: Uint8Array;
  /** Bars in force, and ended ones not yet followed by a successful LOAD. Few: most runs have none. */
  private readonly bars: Bar[] = [];

  constructor(
    private models: number,
    private readonly gpus: number,
    /** Bars by kind of GPU; null: all are of one kind. */
    private readonly kinds: KindBars | null = null,
  ) {
    this.barred = new BitMatrix(models, gpus);
    this.closed = new Uint8Array(models);
  }

  /** Appends models, up to this number. */
  grow(models: number): void {
    this.models = models;
    this.barred.grow(models);
    this.absent?.grow(models);
    this.closed = grown(this.closed, models);
  }

  has(model: number, gpu: number): boolean {
    if (this.closed[model] === 1) return true;
    if (this.kinds?.has(model, gpu)) return true;
    return this.isAny && (this.barred.has(model, gpu) || this.isAbsent(model, gpu));
  }

  /** True if the GPU's worker does not have the model. */
  isAbsent(model: number, gpu: number): boolean {
    return this.absent?.has(model, gpu) === true;
  }

  /** True if some worker does not have some model. */
  get workersDiffer(): boolean {
    return this.absent !== null;
  }

  /** Replaces the GPUs whose workers do not have the model. */
  setAbsent(model: number, gpus: readonly number[]): void {
    if (this.absent === null && gpus.length === 0) return;
    this.absent ??= new BitMatrix(this.models, this.gpus);
    this.absent.clear(model);
    for (const gpu of gpus) this.absent.add(model, gpu);
    this.renewNext();
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
    this.absent?.clear(model);
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
    this.isAny = this.absent !== null || this.nextEndNs < Number.POSITIVE_INFINITY;
  }
}
