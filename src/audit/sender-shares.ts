import type { ActionRows } from './action-rows.js';

/** Share of GPU time of each class, or each tenant: requests of an INFER share its time evenly. */
export class SenderShares {
  /** By class or tenant, ns. */
  private readonly gpuNs: number[] = [];

  /** Only time between `fromNs` and `toNs` counts. */
  constructor(
    private readonly fromNs: number,
    private readonly toNs: number,
  ) {}

  /** Counted time of an INFER. */
  countedNs({ beginNs, endNs }: Pick<ActionRows, 'beginNs' | 'endNs'>): number {
    return Math.max(0, Math.min(endNs, this.toNs) - Math.max(beginNs, this.fromNs));
  }

  /** Splits an INFER's counted time among the senders of its requests. */
  add(countedNs: number, senders: readonly number[]): void {
    for (const one of senders) this.gpuNs[one] = (this.gpuNs[one] ?? 0) + countedNs / senders.length;
  }

  /** Share of one class or tenant, of 1; null: no INFER ran. */
  of(index: number): number | null {
    const totalNs = this.gpuNs.reduce((sum, ns) => sum + (ns ?? 0), 0);
    return totalNs === 0 ? null : (this.gpuNs[index] ?? 0) / totalNs;
  }
}
