import { invariant } from '../../../src/base/invariant.js';

interface MachineClockOptions {
  /** What it says when the simulation begins. */
  readonly originNs: number;
  /** It is so much too fast, in millionths. */
  readonly driftPpm: number;
}

/** The monotonic clock of a simulated machine: it begins anywhere, drifts, and may jump ahead. */
export class MachineClock {
  private baseTrueNs = 0;
  private baseLocalNs: number;
  private rate: number;

  constructor(
    private readonly trueNowNs: () => number,
    { originNs, driftPpm }: MachineClockOptions,
  ) {
    this.baseLocalNs = Math.floor(originNs);
    this.rate = rateOf(driftPpm);
  }

  /** What it says now. */
  localNs(): number {
    return this.baseLocalNs + Math.floor((this.trueNowNs() - this.baseTrueNs) * this.rate);
  }

  /** The first instant, in true time, at which it says so. */
  trueNs(localNs: number): number {
    return this.baseTrueNs + Math.ceil((localNs - this.baseLocalNs) / this.rate);
  }

  /** It drifts otherwise from now on. */
  drift(ppm: number): void {
    this.rebase(0);
    this.rate = rateOf(ppm);
  }

  jump(aheadNs: number): void {
    invariant(aheadNs >= 0, 'a monotonic clock does not go back');
    this.rebase(aheadNs);
  }

  private rebase(aheadNs: number): void {
    this.baseLocalNs = this.localNs() + Math.floor(aheadNs);
    this.baseTrueNs = this.trueNowNs();
  }
}

function rateOf(driftPpm: number): number {
  return 1 + driftPpm / 1e6;
}
