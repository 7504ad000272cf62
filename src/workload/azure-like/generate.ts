import type { Random } from '../../base/random/streams.js';
import { NS_PER_MINUTE } from '../../base/units.js';
import { type MinuteCounts, MinuteCountsBuilder } from '../minute-counts.js';
import { type Behaviour, drawBehaviour, drawShape } from './behaviour.js';
import { naturalRates } from './rates.js';

export interface AzureLikeOptions {
  readonly functions: number;
  readonly minutes: number;
  /** Mean over the trace, whose minutes take a minute each. */
  readonly rateRps: number;
}

/**
 * Makes up a trace with the statistics of the Azure Functions 2019 day: the spread of rates over
 * functions, how uneven each is over time, how many are active in a minute, the swing of the day and
 * its bursts. The rates of all functions are multiplied to reach `rateRps`; in a day of 1,250 functions
 * nothing is multiplied at 211.6/s. Every function is invoked at least once.
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
 * What to multiply the counts of made-up minutes by where each takes `intervalNs`, so that `rateRps` is the mean rate
 * as played.
 */
export function playedShare(intervalNs: number): number {
  return intervalNs / NS_PER_MINUTE;
}

/** Largest minute of a clump relative to all invocations of a mean minute: makes the peak minute of the whole. */
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

/** Deals `total` invocations to minutes in proportion to the weights, rounding so that the sum is kept. */
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
