import type { Verdict } from './judge.js';

const NS_PER_HOUR = 3600e9;

/** Counts what came of the seeds. */
export class Tally {
  failed = 0;
  private passed = 0;
  private events = 0;
  private virtualNs = 0;
  private readonly refused = new Map<string, number>();
  private readonly beganMs = performance.now();

  add(verdict: Verdict): void {
    if (verdict.kind === 'failed') this.failed++;
    else if (verdict.kind === 'refused')
      this.refused.set(verdict.code, (this.refused.get(verdict.code) ?? 0) + 1);
    else {
      this.passed++;
      this.events += verdict.events;
      this.virtualNs += verdict.virtualNs;
    }
  }

  /** One line. Events are arrivals, answers, and orders and results of actions, each counted once though it ran more often. */
  get text(): string {
    const seconds = (performance.now() - this.beganMs) / 1000;
    const refused = [...this.refused].map(([code, count]) => `, ${count} refused with ${code}`).join('');
    const rate = Math.round(this.events / seconds);
    const hours = (this.virtualNs / NS_PER_HOUR).toFixed(2);
    return `${this.passed} passed${refused}, ${this.failed} failed; ${hours} virtual hours, ${rate} events/s, ${Math.round(seconds)} s`;
  }
}
