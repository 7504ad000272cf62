import { NS_PER_S } from '../base/units.js';
import type { PlayCounts } from '../load/player.js';

/** The rate is that of so long. */
const WINDOW_NS = NS_PER_S;

/** Says in one line how a load is going; the rate is that of the last second. */
export class LoadLine {
  private readonly recent: { readonly atNs: number; readonly ok: number }[] = [];

  /** Call it every now and then, with the time since the start. */
  text({ sent, inFlight, ok, late, failed }: PlayCounts, nowNs: number): string {
    this.recent.push({ atNs: nowNs, ok });
    while (this.recent.length > 2 && this.recent[1]!.atNs <= nowNs - WINDOW_NS) this.recent.shift();
    const first = this.recent[0]!;
    const seconds = (nowNs - first.atNs) / NS_PER_S;
    const rate = seconds > 0 ? Math.round((ok - first.ok) / seconds) : 0;
    return `${sent} sent, ${inFlight} in flight, ${rate} ok/s, ${late} late, ${failed} failed`;
  }
}
