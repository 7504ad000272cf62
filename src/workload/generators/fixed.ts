import { NS_PER_S } from '../../base/units.js';
import type { Frame } from '../frame.js';
import type { RateSpec } from '../spec.js';
import { OpenLoopSource } from './open-loop.js';

/** Equal gaps; the first arrival is at the start. Only the models are drawn. */
export class FixedRateSource extends OpenLoopSource {
  private sent = 0;
  private readonly gapNs: number;

  constructor(spec: RateSpec, frame: Frame) {
    super(spec.popularity, frame);
    this.gapNs = NS_PER_S / spec.rateRps;
    this.advance();
  }

  protected override step(): void {
    // From the count, not by adding gaps: the millionth arrival is still on its beat.
    this.clockNs = this.startNs + Math.round(this.sent++ * this.gapNs);
  }
}
