import { NS_PER_S } from '../base/units.js';

/** What was said is said again after this long at the soonest. */
const PAUSE_NS = 60 * NS_PER_S;
/** More different things than that are not remembered. */
const MOST = 1000;

/** Keeps a log readable where the same goes wrong again and again. */
export class Repeats {
  private readonly said = new Map<string, { atNs: number; since: number }>();

  /** How often `what` has happened since it was last said, this time included; 0: it need not be said now. */
  toSay(what: string, nowNs: number): number {
    const known = this.said.get(what);
    if (known !== undefined && nowNs - known.atNs < PAUSE_NS) {
      known.since++;
      return 0;
    }
    if (this.said.size >= MOST) this.said.clear();
    this.said.set(what, { atNs: nowNs, since: 0 });
    return (known?.since ?? 0) + 1;
  }
}
