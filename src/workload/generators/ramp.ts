import { exponential } from '../../base/random/distributions.js';
import type { Random } from '../../base/random/streams.js';
import { NS_PER_S } from '../../base/units.js';
import type { Frame } from '../frame.js';
import type { RampSpec } from '../spec.js';
import { OpenLoopSource } from './open-loop.js';

/**
 * Poisson whose rate moves in a straight line over the duration. Exact: each gap x solves
 * rate·x + slope·x²/2 = e for an exponential e, so nothing is drawn in vain.
 */
export class RampSource extends OpenLoopSource {
  private readonly fromRatePerNs: number;
  private readonly slopePerNs: number;
  private readonly gaps: Random;

  constructor(spec: RampSpec, frame: Frame) {
    super(spec.popularity, frame);
    this.fromRatePerNs = spec.fromRateRps / NS_PER_S;
    this.slopePerNs = (spec.toRateRps - spec.fromRateRps) / NS_PER_S / spec.durationNs;
    this.gaps = frame.random('arrivals');
    this.advance();
  }

  protected override step(): void {
    const need = exponential(this.gaps);
    const rate = this.fromRatePerNs + this.slopePerNs * (this.clockNs - this.startNs);
    // Negative below the root (NaN): the falling rate reaches zero before another arrival.
    this.clockNs += (2 * need) / (rate + Math.sqrt(rate * rate + 2 * this.slopePerNs * need));
  }
}
