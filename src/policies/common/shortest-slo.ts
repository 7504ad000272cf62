import { NS_PER_S } from '../../base/units.js';

/** What came longer ago than one to two of these counts no more. */
const PERIOD_NS = 10 * NS_PER_S;

/** The shortest SLO of the requests of late. */
export class ShortestSlo {
  private presentNs = Number.POSITIVE_INFINITY;
  private beforeNs = Number.POSITIVE_INFINITY;
  private periodNs = 0;

  /** Infinity: no request has come for a while. */
  get ns(): number {
    return Math.min(this.presentNs, this.beforeNs);
  }

  offered(sloNs: number, nowNs: number): void {
    const passedNs = nowNs - this.periodNs;
    if (passedNs >= PERIOD_NS) {
      this.beforeNs = passedNs < 2 * PERIOD_NS ? this.presentNs : Number.POSITIVE_INFINITY;
      this.presentNs = sloNs;
      this.periodNs = nowNs;
    } else if (sloNs < this.presentNs) this.presentNs = sloNs;
  }
}
