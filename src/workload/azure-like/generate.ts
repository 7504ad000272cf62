import type { Random } from '../../base/random/streams.js';
import { NS_PER_MINUTE } from '../../base/units.js';
import { type MinuteCounts, MinuteCountsBuilder } from '../minute-counts.js';
import { type Behaviour, drawBehaviour, drawShape } from './behaviour.js';

export interface AzureLikeOptions {
  readonly functions: number;
  readonly minutes: number;
  /** Mean over the trace, with minutes at their real length. */
  readonly rateRps: number;
}

/**
 * Generates a trace with the statistics of the Azure Functions 2019 day: the spread of rates over functions, how uneven
 * each is over time, how many are active in a minute, the daily cycle and its bursts. The rates of all functions are
 * multiplied to reach `rateRps`; for a day of 1,250 functions the factor is 1 at 211.6/s. Every function is invoked at
 * least once.
 */
export function generateAzureLike(options: AzureLikeOptions, random: Random): MinuteCounts {
  const { functions, minutes, rateRps } = options;
  const rates = naturalRates(functions);
  const perMinute = rateRps * 60;
  const factor = perMinute / rates.reduce((sum, rate) => sum + rate, 0);
  const builder = new MinuteCountsBuilder();
  const weights = new Float64Array(minutes);
  for (const naturalRate of rates) {
    const total = Math.max(1, Math.round(naturalRate * factor * minutes));
    const behaviour = drawBehaviour(naturalRate, random);
    builder.beginFunction(drawTrigger(behaviour, random));
    drawShape(behaviour, { naturalRate, total, largestMinute: LARGEST_CLUMP * perMinute }, weights, random);
    spread(total, weights, random(), builder);
  }
  return builder.finish(minutes, 1);
}

/**
 * Factor on the counts of generated minutes that each take `intervalNs`, so that `rateRps` is the mean rate as played.
 */
export function playedShare(intervalNs: number): number {
  return intervalNs / NS_PER_MINUTE;
}

/** Largest minute of a clump relative to all invocations of a mean minute: determines the peak minute of the trace. */
const LARGEST_CLUMP = 0.8;

const TRIGGERS: Readonly<Record<Behaviour, readonly string[]>> = {
  steady: ['http', 'queue', 'event'],
  timer: ['timer'],
  bursty: ['http', 'queue', 'orchestration'],
  clump: ['http', 'storage', 'others'],
};

function drawTrigger(behaviour: Behaviour, random: Random): string {
  const triggers = TRIGGERS[behaviour];
  return triggers[Math.floor(random() * triggers.length)];
}

/** Distributes `total` invocations over minutes in proportion to the weights, rounding so that the sum is kept. */
function spread(total: number, weights: Float64Array, phase: number, builder: MinuteCountsBuilder): void {
  let sum = 0;
  for (const weight of weights) sum += weight;
  let passed = 0;
  let dealt = 0;
  for (let minute = 0; minute < weights.length; minute++) {
    passed += weights[minute];
    // `passed` ends as exactly `sum`: the same additions in the same order.
    const due = Math.floor(phase + total * (passed / sum));
    if (due > dealt) builder.add(minute, due - dealt);
    dealt = due;
  }
}

/**
 * Invocations per minute of the functions of one day of Azure Functions, by falling rate: share of the functions that
 * are more popular, and the rate there. Taken from the 1,250-function sample of day 1 of the 2019 trace that the
 * In-Vitro project redistributes (Shahrad et al., ATC 2020, CC-BY-4.0). Ten functions make 57 % of all invocations;
 * half of the functions make fewer than one in 17 minutes.
 */
const RANK_SHARES = [
  0, 0.0008, 0.0032, 0.004, 0.0048, 0.0056, 0.0064, 0.008, 0.01, 0.02, 0.024, 0.05, 0.06, 0.084, 0.1, 0.144,
  0.2, 0.27, 0.4, 0.5, 0.63, 0.8, 0.9, 1,
];
const RANK_RATES = [
  1037, 840, 837, 769, 769, 638, 419, 210, 168, 78, 60.6, 25.5, 16.2, 14, 10, 3.9, 2.8, 1.04, 0.233, 0.0583,
  0.016, 0.0056, 0.0014, 0.0007,
];

/** Natural rates of `functions` functions, invocations per minute, descending: linear interpolation of logarithms. */
function naturalRates(functions: number): Float64Array {
  let knot = 0;
  return Float64Array.from({ length: functions }, (_, rank) => {
    const share = functions === 1 ? 0 : rank / (functions - 1);
    while (knot + 2 < RANK_SHARES.length && RANK_SHARES[knot + 1] <= share) knot++;
    const [fromShare, toShare] = RANK_SHARES.slice(knot, knot + 2);
    const [fromRate, toRate] = RANK_RATES.slice(knot, knot + 2);
    return fromRate * (toRate / fromRate) ** ((share - fromShare) / (toShare - fromShare));
  });
}
