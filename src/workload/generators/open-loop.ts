import { exponential, gamma } from '../../base/random/distributions.js';
import type { Random } from '../../base/random/streams.js';
import { NS_PER_S } from '../../base/units.js';
import type { AliasTable } from '../alias-table.js';
import type { Frame } from '../frame.js';
import { popularityTable } from '../popularity.js';
import { BaseSource } from '../source.js';
import type { GammaSpec, OnOffSpec, Popularity, RampSpec, RateSpec } from '../spec.js';

/**
 * Arrivals independent of answers, each for a model drawn by popularity. A subclass determines when the next one comes.
 * The clock keeps fractions of a ns, so that rounding does not bias the rate.
 */
abstract class OpenLoopSource extends BaseSource {
  protected clockNs: number;
  protected readonly startNs: number;
  private readonly endNs: number;
  private readonly models: Int32Array;
  private readonly popularity: AliasTable;
  private readonly picks: Random;

  constructor(popularity: Popularity, frame: Frame) {
    super(frame.sloNs);
    this.clockNs = frame.startNs;
    this.startNs = frame.startNs;
    this.endNs = frame.endNs;
    this.models = frame.models;
    this.popularity = popularityTable(popularity, frame.models.length);
    this.picks = frame.random('models');
  }

  /** Moves `clockNs` to the next arrival; a time at or after the end (or NaN) ends the stream. */
  protected abstract step(): void;

  override advance(): void {
    this.step();
    if (!(this.clockNs < this.endNs)) {
      this.timeNs = Number.POSITIVE_INFINITY;
      return;
    }
    this.timeNs = Math.floor(this.clockNs);
    this.model = this.models[this.popularity.pick(this.picks())];
  }
}

/** Equal gaps; the first arrival is at the start. Only models are random. */
export class FixedRateSource extends OpenLoopSource {
  private sent = 0;
  private readonly gapNs: number;

  constructor(spec: RateSpec, frame: Frame) {
    super(spec.popularity, frame);
    this.gapNs = NS_PER_S / spec.rateRps;
    this.advance();
  }

  protected override step(): void {
    // By the count, not by adding gaps: the millionth arrival is still exact.
    this.clockNs = this.startNs + Math.round(this.sent++ * this.gapNs);
  }
}

/** Gamma-distributed gaps: burstier than Poisson for `cv` > 1, more regular below. */
export class GammaSource extends OpenLoopSource {
  private readonly shape: number;
  /** Gap per unit of a gamma variate, whose mean is `shape`. */
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

/** Poisson at two alternating rates, starting with the first. */
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
    // Poisson gaps are memoryless: a gap that crosses the end of a phase is drawn again.
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

/**
 * Poisson with a rate that changes linearly over the duration. Exact: each gap x solves rate·x + slope·x²/2 = e for an
 * exponential e, so no draw is rejected.
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
    // Negative under the root (NaN): the falling rate reaches zero before another arrival.
    this.clockNs += (2 * need) / (rate + Math.sqrt(rate * rate + 2 * this.slopePerNs * need));
  }
}
