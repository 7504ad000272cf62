import { NS_PER_HOUR } from '../base/units.js';
import type { Scaler, ScalingDecision, ScalingView } from '../core/scaler.js';
import type { PolicyOptions } from '../policies/entry.js';
import type { ScalerEntry } from './entry.js';
import { capacityOf, keptGpus, sumOf } from './fleet-sums.js';
import { Forecast } from './forecast.js';
import { Highest } from './highest.js';
import { cheapestFleet } from './mix.js';
import { gpusText, neededText, percentText, secondsText, unitOf } from './reasons.js';
import { workOf } from './work.js';

/** Time constant of the error budget. */
const BUDGET_NS = 6 * NS_PER_HOUR;
/** Time after the start during which about half of the budget counts as used up. */
const PRIOR_NS = NS_PER_HOUR;
/** Remaining share of the budget below which decisions become more careful. */
const BAND = 0.3;
/** Probability that a forecast may be exceeded: with no budget left, and with more left than `BAND`. */
const LEAST_EXCEEDED = 0.004;
const MOST_EXCEEDED = 0.5;
/** GPUs beyond the work, as a multiple of its square root: initial value and range. */
const FIRST_RESERVE = 0.6;
const LEAST_RESERVE = 0.02;
const MOST_RESERVE = 2.5;
/** Step in an interval with failures beyond the target, without budget left and with some. */
const RISE = 0.06;
const FALL = 0.004;
const WEIGHTS_BUSY = 0.6;

/**
 * Orders GPUs for the demand at the time they will be in service. Demand is the EXEC time of arriving requests, in the
 * batches that their models can gather within their SLOs, so it measures the GPUs needed, not how busy the present ones
 * are. The forecast is for the time that a GPU takes to start. How often it may be exceeded follows from the remaining
 * error budget, the failures that the target allows, so GPUs are kept for bursts only if failures in them would cost
 * too much. A reserve by the square-root staffing rule of queueing theory is added, which grows when requests fail for
 * other reasons. GPUs are stopped when no decision within one start-up time wanted them.
 */
class Predictive implements Scaler {
  readonly name = 'predictive';
  private readonly target: number;
  private forecast: Forecast | null = null;
  private wanted: Highest | null = null;
  private reserve = FIRST_RESERVE;
  /** Recent failures and answers, exponentially weighted. */
  private failures = 0;
  private answers = 0;

  constructor({ attainment }: PolicyOptions) {
    this.target = attainment as number;
  }

  decide(view: ScalingView): ScalingDecision {
    const { kinds, models, nowNs, intervalNs, arrivals, sloNs } = view;
    const startNs = Math.max(...kinds.map((kind) => kind.startNs));
    this.forecast ??= new Forecast(Math.ceil(startNs / intervalNs) + 1);
    this.wanted ??= new Highest(startNs + intervalNs);
    const work = workOf({
      models,
      counts: arrivals,
      withinNs: intervalNs,
      sloNsOf: (model) => sloNs[model],
    });
    this.forecast.add(work);
    const left = this.learn(view, work);
    const exceeded = LEAST_EXCEEDED * (MOST_EXCEEDED / LEAST_EXCEEDED) ** Math.min(1, left / BAND);
    const expected = this.forecast.quantile(1 - exceeded);
    const { need, why } = this.raised(view, expected + this.reserve * Math.sqrt(expected), left === 0);
    const highest = this.wanted.add(need, nowNs);
    const kept = keptGpus(kinds);
    const present = capacityOf(kinds, kept);
    const fleet = cheapestFleet(kinds, need > present ? need : highest);
    const gpus = need > present || capacityOf(kinds, fleet) < present ? fleet : kept;
    const windowNs = startNs + intervalNs;
    const earlier = need > present ? undefined : { need: highest, windowNs };
    const demand = `demand ${gpusText(work)} ${unitOf(kinds)}`;
    const forecast = this.forecast.isLearned
      ? `${gpusText(expected)} enough ${secondsText(windowNs)} ahead in ${percentText(1 - exceeded)} of past forecasts`
      : `${gpusText(expected)} taken as enough until there are forecasts to learn from`;
    const budget = `${percentText(left)} left of the failures that ${percentText(this.target)} in time allows`;
    const reserve = `reserve ${this.reserve.toFixed(3)} × √${gpusText(expected)}`;
    return {
      gpus,
      reason: `${demand}, ${forecast} (${budget}), ${reserve}${why}: ${neededText(kinds, gpus, need, earlier)}`,
    };
  }

  /** Adds GPUs for what the forecast ignores: too little memory for the models in use, and requests failing now. */
  private raised(
    { kinds, failed, answered, predictedAttainment }: ScalingView,
    need: number,
    nothingLeft: boolean,
  ) {
    const on = capacityOf(
      kinds,
      kinds.map((kind) => kind.on),
    );
    const isStarting = kinds.some(({ starting }) => starting > 0);
    const allowed = (1 - this.target) * answered;
    const weights = Math.max(...kinds.map(({ weightsUtilization }) => weightsUtilization));
    if (isStarting || need > on) return { need, why: '' };
    if (weights > WEIGHTS_BUSY || (failed.cold > allowed && weights > WEIGHTS_BUSY / 2))
      return {
        need: on + 1,
        why: `, but WEIGHTS ${percentText(weights)} busy: one more than ${gpusText(on)}`,
      };
    if (
      nothingLeft &&
      predictedAttainment < this.target &&
      failed.refused + failed.timedOut + failed.late > allowed
    )
      return {
        need: on + 1,
        why: `, but predicted attainment ${percentText(predictedAttainment)}: one more than ${gpusText(on)}`,
      };
    return { need, why: '' };
  }

  /** Counts failures. Returns the remaining share of the error budget. */
  private learn({ kinds, answered, ok, intervalNs, nowNs }: ScalingView, work: number): number {
    const keep = Math.exp(-intervalNs / BUDGET_NS);
    this.failures = this.failures * keep + (answered - ok);
    this.answers = this.answers * keep + answered;
    const allowed = 1 - this.target;
    const known = 1 - Math.exp(-nowNs / PRIOR_NS);
    const used = this.answers === 0 ? 0 : this.failures / (allowed * this.answers);
    const left = Math.max(0, 1 - (known * used + (1 - known) / 2));
    if (answered === 0) return left;
    const on = sumOf(kinds, (kind) => kind.on * kind.speed);
    if (left > 0) this.reserve = Math.max(LEAST_RESERVE, this.reserve * (1 - FALL));
    else if (answered - ok > allowed * answered && work <= on)
      this.reserve = Math.min(MOST_RESERVE, this.reserve * (1 + RISE));
    return left;
  }
}

export const predictiveEntry: ScalerEntry = {
  kind: 'predictive',
  summary: 'Orders GPUs for the demand forecast for the time when they will have started.',
  options: {
    attainment: {
      type: 'number',
      default: 0.99,
      min: 0.5,
      max: 0.99999,
      describe: 'Share of requests to be answered in time.',
    },
  },
  create: (_context, options) => new Predictive(options),
};
