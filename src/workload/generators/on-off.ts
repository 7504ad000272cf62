import { exponential } from '../../base/random/distributions.js';
import type { Random } from '../../base/random/streams.js';
import { NS_PER_S } from '../../base/units.js';
import type { Frame } from '../frame.js';
import type { OnOffSpec } from '../spec.js';
import { OpenLoopSource } from './open-loop.js';

/** Poisson at one rate, then at another, and again; begins with the first. */
export class OnOffSource extends OpenLoopSource {
  private on = true;
  private phaseEndNs: number;
  private readonly onNs: number;
  private readonly offNs: number;
  private readonly onRatePerNs: number;
  private readonly offRatePerNs: number;
  private readonly runEndNs: number;
  private readonly gaps: Random;

  constructor(spec: OnOffSpec, frame: Frame) {
    super(spec.popularity, frame);
    this.onNs = spec.onNs;
    this.offNs = spec.offNs;
    this.onRatePerNs = spec.onRateRps / NS_PER_S;
    this.offRatePerNs = spec.offRateRps / NS_PER_S;
    this.phaseEndNs = frame.startNs + spec.onNs;
    this.runEndNs = frame.endNs;
    this.gaps = frame.random('arrivals');
    this.advance();
  }

  protected override step(): void {
    // Gaps of a Poisson process have no memory: a gap that crosses the end of a phase is drawn again.
    for (;;) {
      const rate = this.on ? this.onRatePerNs : this.offRatePerNs;
      if (rate > 0) {
        const nextNs = this.clockNs + exponential(this.gaps) / rate;
        if (nextNs < this.phaseEndNs) {
          this.clockNs = nextNs;
          return;
        }
      }
      this.clockNs = this.phaseEndNs;
      if (this.clockNs >= this.runEndNs) return;
      this.on = !this.on;
      this.phaseEndNs += this.on ? this.onNs : this.offNs;
    }
  }
}
