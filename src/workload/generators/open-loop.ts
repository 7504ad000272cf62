import { exponential, gamma } from '../../base/random/distributions.js';
import { NS_PER_S } from '../../base/units.js';
import type { AliasTable } from '../alias-table.js';
import type { Frame } from '../frame.js';
import { popularityTable } from '../popularity.js';
import { BaseSource } from '../source.js';
import type { SpecOf } from '../spec.js';

type OpenLoopSpec = SpecOf<'poisson' | 'fixed' | 'gamma' | 'on-off' | 'ramp'>;

/** Time of the arrival that follows one at `clockNs`; at or after the end (or NaN): there is none. */
type Step = (clockNs: number) => number;

/**
 * Arrivals independent of answers, each for a model drawn by popularity. The clock keeps fractions of a ns, so that
 * rounding does not bias the rate.
 */
export class OpenLoopSource extends BaseSource {
  private clockNs: number;
  private readonly step: Step;
  private readonly popularity: AliasTable;
  private readonly picks: () => number;

  constructor(
    spec: OpenLoopSpec,
    private readonly frame: Frame,
  ) {
    super(frame.sloNs);
    this.clockNs = frame.startNs;
    this.step = stepOf(spec, frame);
    this.popularity = popularityTable(spec.popularity, frame.models.length);
    this.picks = frame.random('models');
    this.advance();
  }

  override advance(): void {
    const { endNs, models } = this.frame;
    this.clockNs = this.step(this.clockNs);
    if (!(this.clockNs < endNs)) {
      this.timeNs = Number.POSITIVE_INFINITY;
      return;
    }
    this.timeNs = Math.floor(this.clockNs);
    this.model = models[this.popularity.pick(this.picks())];
  }
}

function stepOf(spec: OpenLoopSpec, frame: Frame): Step {
  const { startNs } = frame;
  const gaps = frame.random('arrivals');
  switch (spec.kind) {
    case 'fixed': {
      const gapNs = NS_PER_S / spec.rateRps;
      let sent = 0;
      // By the count, not by adding gaps: the millionth arrival is still exact. The first is at the start.
      return () => startNs + Math.round(sent++ * gapNs);
    }
    case 'poisson': {
      const meanGapNs = NS_PER_S / spec.rateRps;
      return (clockNs) => clockNs + exponential(gaps) * meanGapNs;
    }
    case 'gamma': {
      const shape = 1 / (spec.cv * spec.cv);
      const unitNs = NS_PER_S / spec.rateRps / shape;
      return (clockNs) => clockNs + gamma(gaps, shape) * unitNs;
    }
    case 'ramp': {
      const fromRate = spec.fromRateRps / NS_PER_S;
      const slope = (spec.toRateRps - spec.fromRateRps) / NS_PER_S / spec.durationNs;
      // Exact: each gap x solves rate·x + slope·x²/2 = e for an exponential e, so no draw is rejected.
      return (clockNs) => {
        const need = exponential(gaps);
        const rate = fromRate + slope * (clockNs - startNs);
        // Negative under the root (NaN): the falling rate reaches zero before another arrival.
        return clockNs + (2 * need) / (rate + Math.sqrt(rate * rate + 2 * slope * need));
      };
    }
    case 'on-off':
      return onOff(spec, frame, gaps);
  }
}

/** Poisson at two alternating rates, starting with the first. */
function onOff(
  { onNs, offNs, onRateRps, offRateRps }: SpecOf<'on-off'>,
  frame: Frame,
  gaps: () => number,
): Step {
  let isOn = true;
  let phaseEndNs = frame.startNs + onNs;
  return (clockNs) => {
    // Poisson gaps are memoryless: a gap that crosses the end of a phase is drawn again.
    for (let fromNs = clockNs; ; ) {
      const rate = (isOn ? onRateRps : offRateRps) / NS_PER_S;
      const nextNs = rate > 0 ? fromNs + exponential(gaps) / rate : phaseEndNs;
      if (nextNs < phaseEndNs) return nextNs;
      fromNs = phaseEndNs;
      if (fromNs >= frame.endNs) return fromNs;
      isOn = !isOn;
      phaseEndNs += isOn ? onNs : offNs;
    }
  };
}
