import { NS_PER_HOUR } from '../../src/base/units.js';
import type { SeedVerdict } from './run/try-seed.js';

/** Counts what came of the seeds. */
export class Tally {
  failed = 0;
  private passed = 0;
  private events = 0;
  private virtualNs = 0;
  private readonly refused = new Map<string, number>();
  private readonly beganMs = performance.now();

  add({ failure, events, virtualNs, refused }: SeedVerdict): void {
    if (refused !== undefined) this.refused.set(refused, (this.refused.get(refused) ?? 0) + 1);
    else if (failure === '') this.passed++;
    else this.failed++;
    this.events += events;
    this.virtualNs += virtualNs;
  }

  /** One line. */
  get text(): string {
    const seconds = (performance.now() - this.beganMs) / 1000;
    const rate = Math.round(this.events / seconds);
    const did = `${this.events} events in ${(this.virtualNs / NS_PER_HOUR).toFixed(2)} virtual hours`;
    const refused = [...this.refused].map(([why, count]) => `, ${count} refused with ${why}`).join('');
    return `${this.passed} passed${refused}, ${this.failed} failed; ${did}, ${Math.round(seconds)} s, ${rate} events/s`;
  }
}
