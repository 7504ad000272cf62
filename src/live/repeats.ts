import { NS_PER_S } from '../base/units.js';

/** Minimum interval between repetitions of a message. */
const PAUSE_NS = 60 * NS_PER_S;
/** Number of distinct messages remembered. */
const MOST = 1000;

/** Keeps a log readable when the same problem recurs. */
export class Repeats {
  private readonly said = new Map<string, { atNs: number; since: number }>();

  /** Number of occurrences of `what` since it was last logged, including this one; 0: need not be logged now. */
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
