import { BitMatrix } from '../base/bit-matrix.js';
import { NS_PER_S } from '../base/units.js';
import type { KindBars } from './kind-bars.js';

/** How long a LOAD that failed on the device is not sent again; twice as long after each further failure. */
const FIRST_NS = NS_PER_S;
const LONGEST_NS = 60 * NS_PER_S;
/** Once a model has failed on this many GPUs and is on none, its requests fail before it is tried on another. */
const ENOUGH = 2;

interface Bar {
  readonly model: number;
  readonly gpu: number;
  lengthNs: number;
  untilNs: number;
}

/** Which models may not be loaded onto which GPUs: for a while, because the device failed at it, or as its kind is unfit. */
export class LoadBars {
  /** When the first bar ends; Infinity: there is none. */
  nextEndNs = Number.POSITIVE_INFINITY;
  /** Row = model. */
  private readonly barred: BitMatrix;
  /** By model, 1: it may be loaded nowhere, for it is about to go, or there is none in its slot. */
  private readonly closed: Uint8Array;
  /** Those in force, and those that ended before a LOAD went well. Few: most runs have none. */
  private readonly bars: Bar[] = [];

  constructor(
    models: number,
    gpus: number,
    /** What the kinds of GPUs bar; null: all are of one kind. */
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

  /** The device has failed at a LOAD. */
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

  /** A LOAD went well, or the GPU is another now. */
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

  /** The model may be loaded nowhere any more. */
  close(model: number): void {
    this.closed[model] = 1;
  }

  /** Another model is in the slot: nothing is known against it. */
  reopen(model: number): void {
    this.closed[model] = 0;
    for (const { gpu } of this.bars.filter((bar) => bar.model === model)) this.forget(model, gpu);
  }

  /** Lets go of what has been barred for long enough. */
  advance(nowNs: number): void {
    if (nowNs < this.nextEndNs) return;
    for (const { model, gpu, untilNs } of this.bars) if (untilNs <= nowNs) this.barred.delete(model, gpu);
    this.renewNext();
  }

  /** Whether a model that no GPU holds is not worth waiting for at present; `gpus`: how many that might hold it are up. */
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
