import { gamma } from '../../base/random/distributions.js';
import type { Random } from '../../base/random/streams.js';
import { NS_PER_S } from '../../base/units.js';
import type { Frame } from '../frame.js';
import type { GammaSpec } from '../spec.js';
import { OpenLoopSource } from './open-loop.js';

/** Gamma-distributed gaps: burstier than Poisson for `cv` > 1, more regular below. */
export class GammaSource extends OpenLoopSource {
  private readonly shape: number;
  /** Gap for one unit of a gamma variate, whose mean is `shape`. */
  private readonly unitNs: number;
  private readonly gaps: Random;

  constructor(spec: GammaSpec, frame: Frame) {
    super(spec.popularity, frame);
    this.shape = 1 / (spec.cv * spec.cv);
    this.unitNs = NS_PER_S / spec.rateRps / this.shape;
    this.gaps = frame.random('arrivals');
    this.advance();
  }

  protected override step(): void {
    this.clockNs += gamma(this.gaps, this.shape) * this.unitNs;
  }
}
