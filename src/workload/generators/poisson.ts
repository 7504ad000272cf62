import { exponential } from '../../base/random/distributions.js';
import type { Random } from '../../base/random/streams.js';
import { NS_PER_S } from '../../base/units.js';
import type { Frame } from '../frame.js';
import type { RateSpec } from '../spec.js';
import { OpenLoopSource } from './open-loop.js';

/** Independent arrivals at a constant mean rate. */
export class PoissonSource extends OpenLoopSource {
  private readonly meanGapNs: number;
  private readonly gaps: Random;

  constructor(spec: RateSpec, frame: Frame) {
    super(spec.popularity, frame);
    this.meanGapNs = NS_PER_S / spec.rateRps;
    this.gaps = frame.random('arrivals');
    this.advance();
  }

  protected override step(): void {
    this.clockNs += exponential(this.gaps) * this.meanGapNs;
  }
}
