import type { ActionRows } from './action-rows.js';

/** The part of the GPUs' time that each class, or each tenant, got: requests of an INFER share its time evenly. */
export class SenderShares {
  /** By class or tenant, ns. */
  private readonly gpuNs: number[] = [];

  /** Counted is what lies between both, ns. */
  constructor(
    private readonly fromNs: number,
    private readonly toNs: number,
  ) {}

  /** How long an INFER counts. */
  countedNs({ beginNs, endNs }: Pick<ActionRows, 'beginNs' | 'endNs'>): number {
    return Math.max(0, Math.min(endNs, this.toNs) - Math.max(beginNs, this.fromNs));
  }

  /** An INFER that lasted so long answered requests of these. */
  add(countedNs: number, senders: readonly number[]): void {
    for (const one of senders) this.gpuNs[one] = (this.gpuNs[one] ?? 0) + countedNs / senders.length;
  }

  of(index: number): number {
    const totalNs = this.gpuNs.reduce((sum, ns) => sum + (ns ?? 0), 0);
    return totalNs === 0 ? 0 : (this.gpuNs[index] ?? 0) / totalNs;
  }
}
