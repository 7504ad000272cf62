import { BaseSource, type StreamedSource } from './source.js';

/** What of a workload one of several controllers gets, by the models of the whole cluster. */
export interface CellShare {
  /** For each model of the cluster its index in the cell; −1: the cell does not have it. */
  readonly modelOf: readonly number[];
  /** For each model of the cluster the half-open slice of [0, 1) of its requests that the cell gets. */
  readonly slices: readonly (readonly [from: number, to: number])[];
}

/** Multiples of it, modulo 1, fill [0, 1) more evenly than any other number's: the golden ratio less 1. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * The requests of one cell. Those of a model that several cells have are dealt out one by one, as a load balancer with
 * weights would: request k belongs to the cell whose slice holds k · GOLDEN mod 1. So every request has exactly one
 * cell, and each cell finds its own without knowing of the others.
 */
export class CellSource extends BaseSource {
  /** Requests of each model so far, of all cells. */
  private readonly seen: Float64Array;

  constructor(
    private readonly whole: StreamedSource,
    private readonly share: CellShare,
  ) {
    super(whole.sloNs, whole.users);
    this.seen = new Float64Array(share.modelOf.length);
    this.find();
  }

  override advance(): void {
    this.whole.advance();
    this.find();
  }

  override async refill(): Promise<void> {
    await this.whole.refill();
    this.find();
  }

  /** Skips what other cells get. */
  private find(): void {
    const { whole } = this;
    while (!whole.starved && whole.timeNs !== Number.POSITIVE_INFINITY && !this.isOurs()) whole.advance();
    this.starved = whole.starved;
    // Of a source that waits for its file, the time is still that of what was delivered last.
    if (this.starved) return;
    this.timeNs = whole.timeNs;
    this.sloNs = whole.sloNs;
    this.user = whole.user;
    this.requestClass = whole.requestClass;
    this.tenant = whole.tenant;
    this.length = whole.length;
    this.model = this.share.modelOf[whole.model] as number;
  }

  private isOurs(): boolean {
    const { model } = this.whole;
    if ((this.share.modelOf[model] as number) < 0) return false;
    const [from, to] = this.share.slices[model] as readonly [number, number];
    const at = (++this.seen[model] * GOLDEN) % 1;
    return from <= at && at < to;
  }
}
