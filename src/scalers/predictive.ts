import { NS_PER_MINUTE } from '../base/units.js';
import type { Scaler, ScalingDecision, ScalingView } from '../core/scaler.js';
import type { PolicyOptions } from '../policies/entry.js';
import type { ScalerEntry } from './entry.js';
import { capacityOf, keptGpus, sumOf } from './fleet-sums.js';
import { PeakForecast } from './forecast.js';
import { Highest } from './highest.js';
import { cheapestFleet } from './mix.js';
import { workOf } from './work.js';

/** Time constant over which failures are held against what the target allows. */
const BUDGET_NS = 30 * NS_PER_MINUTE;
/** How often a forecast may be exceeded: at first, and between what it moves. */
const FIRST_EXCEEDED = 0.05;
const LEAST_EXCEEDED = 0.004;
const MOST_EXCEEDED = 0.5;
/** GPUs beyond the work, as a multiple of its square root: at first, and between what it moves. */
const FIRST_RESERVE = 0.6;
const LEAST_RESERVE = 0.1;
const MOST_RESERVE = 2.5;
/** In an interval with failures beyond the target, and in one when there are fewer than it allows. */
const RISE = 0.06;
const FALL = 0.002;
const WEIGHTS_BUSY = 0.6;

/**
 * Orders GPUs for the demand of the time when they will be there. Demand is the EXEC time of the requests that come, in the batches that
 * their models can gather within their SLOs, so it says how many GPUs are needed, not how busy the present ones are. The forecast covers
 * the time that a GPU takes to start. On top comes a reserve by the square-root staffing rule of queueing theory. Both are tuned
 * by the attainment: requests that fail while there is more work than was forecast raise the forecast, others the reserve. GPUs
 * are stopped when the forecast has been safe without them for as long as one takes to start.
 */
class Predictive implements Scaler {
  readonly name = 'predictive';
  private readonly target: number;
  private forecast: PeakForecast | null = null;
  private wanted: Highest | null = null;
  private exceeded = FIRST_EXCEEDED;
  private reserve = FIRST_RESERVE;
  /** Failures and answers of late, exponentially weighted. */
  private failures = 0;
  private answers = 0;

  constructor({ attainment }: PolicyOptions) {
    this.target = attainment as number;
  }

  decide(view: ScalingView): ScalingDecision {
    const { kinds, models, nowNs, intervalNs, arrivals, sloNs } = view;
    const startNs = Math.max(...kinds.map((kind) => kind.startNs));
    this.forecast ??= new PeakForecast(Math.ceil(startNs / intervalNs) + 1);
    this.wanted ??= new Highest(startNs + intervalNs);
    const work = workOf({
      models,
      counts: arrivals,
      withinNs: intervalNs,
      sloNsOf: (model) => sloNs[model],
    });
    this.forecast.add(work);
    this.learn(view, work);
    const expected = this.forecast.peak(1 - this.exceeded);
    const { need, why } = this.raised(view, expected + this.reserve * Math.sqrt(expected));
    const highest = this.wanted.add(need, nowNs);
    const demand = `demand ${gpus(work)} GPUs, up to ${gpus(expected)} expected`;
    const present = capacityOf(kinds, keptGpus(kinds));
    const reason = why === '' ? demand : `${demand}, ${why}`;
    if (need > present) return { gpus: cheapestFleet(kinds, need), reason };
    const fewer = cheapestFleet(kinds, highest);
    return { gpus: capacityOf(kinds, fewer) < present ? fewer : keptGpus(kinds), reason };
  }

  /** What the forecast does not know: memory that is too small for the models in use, and requests that fail as it is. */
  private raised({ kinds, failed, answered, predictedAttainment }: ScalingView, need: number) {
    const on = capacityOf(
      kinds,
      kinds.map((kind) => kind.on),
    );
    const isStarting = kinds.some(({ starting }) => starting > 0);
    const allowed = (1 - this.target) * answered;
    const weights = Math.max(...kinds.map(({ weightsUtilization }) => weightsUtilization));
    if (isStarting || need > on) return { need, why: '' };
    if (weights > WEIGHTS_BUSY || (failed.cold > allowed && weights > WEIGHTS_BUSY / 2))
      return { need: on + 1, why: `WEIGHTS ${Math.round(weights * 100)} % busy` };
    if (predictedAttainment < this.target && failed.refused + failed.timedOut + failed.late > allowed)
      return { need: on + 1, why: `predicted attainment ${Math.round(predictedAttainment * 100)} %` };
    return { need, why: '' };
  }

  private learn({ kinds, answered, ok, intervalNs }: ScalingView, work: number): void {
    const keep = Math.exp(-intervalNs / BUDGET_NS);
    this.failures = this.failures * keep + (answered - ok);
    this.answers = this.answers * keep + answered;
    if (answered === 0) return;
    const allowed = 1 - this.target;
    const on = sumOf(kinds, (kind) => kind.on * kind.speed);
    const isOver = this.failures > allowed * this.answers;
    if (!isOver) {
      this.exceeded = Math.min(MOST_EXCEEDED, this.exceeded * (1 + FALL));
      this.reserve = Math.max(LEAST_RESERVE, this.reserve * (1 - FALL));
    } else if (answered - ok > allowed * answered) {
      if (work > on) this.exceeded = Math.max(LEAST_EXCEEDED, this.exceeded * (1 - RISE));
      else this.reserve = Math.min(MOST_RESERVE, this.reserve * (1 + RISE));
    }
  }
}

function gpus(value: number): string {
  return value.toFixed(1);
}

export const predictiveEntry: ScalerEntry = {
  kind: 'predictive',
  summary: 'Orders GPUs for the demand that is forecast for the time when they will have started.',
  options: {
    attainment: {
      type: 'number',
      default: 0.99,
      min: 0.5,
      max: 0.99999,
      describe: 'Share of the requests that shall be answered in time.',
    },
  },
  create: (_context, options) => new Predictive(options),
};
