import { gamma, normal } from '../../base/random/distributions.js';
import type { Random } from '../../base/random/streams.js';

/** Distribution of a function's invocations over the minutes of the trace. */
export type Behaviour = 'steady' | 'timer' | 'bursty' | 'clump';

/** Inputs of a behaviour. */
interface FunctionPlan {
  /** Invocations per minute of such a function in the original trace. */
  readonly naturalRate: number;
  /** Invocations in the whole trace. */
  readonly total: number;
  /** Most invocations in a minute of a clump, so that one function cannot dwarf the rest. */
  readonly largestMinute: number;
}

/** Probabilities of steady, timer and bursty (else clump) by natural rate, and periods of timers in minutes. */
const BANDS: readonly {
  readonly fromRate: number;
  readonly steady: number;
  readonly timer: number;
  readonly bursty: number;
  readonly periods: readonly number[];
  /** Range of the share of minutes in which a bursty function is on, uniform in the logarithm. */
  readonly on: readonly [number, number];
}[] = [
  { fromRate: 170, steady: 1, timer: 0, bursty: 0, periods: [1], on: [1, 1] },
  { fromRate: 80, steady: 0.5, timer: 0, bursty: 0.35, periods: [1], on: [0.1, 0.5] },
  { fromRate: 26, steady: 0.8, timer: 0.05, bursty: 0.12, periods: [5], on: [0.4, 0.9] },
  { fromRate: 10, steady: 0.68, timer: 0.05, bursty: 0.23, periods: [5], on: [0.2, 0.9] },
  { fromRate: 3.4, steady: 0.3, timer: 0.2, bursty: 0.43, periods: [2, 5], on: [0.15, 0.9] },
  { fromRate: 2.2, steady: 0.15, timer: 0.35, bursty: 0.47, periods: [5], on: [0.2, 0.8] },
  { fromRate: 1, steady: 0.15, timer: 0.25, bursty: 0.55, periods: [5, 10], on: [0.1, 0.5] },
  { fromRate: 0.49, steady: 0.2, timer: 0.2, bursty: 0.45, periods: [5, 15], on: [0.05, 0.3] },
  { fromRate: 0.23, steady: 0.05, timer: 0.5, bursty: 0.35, periods: [15, 60], on: [0.02, 0.2] },
  { fromRate: 0.093, steady: 0.15, timer: 0.25, bursty: 0.3, periods: [10, 60], on: [0.02, 0.2] },
  { fromRate: 0.0236, steady: 0.3, timer: 0.05, bursty: 0.4, periods: [60], on: [0.01, 0.1] },
  { fromRate: 0.0097, steady: 0.45, timer: 0.05, bursty: 0.25, periods: [120], on: [0.005, 0.05] },
  { fromRate: 0, steady: 0.25, timer: 0, bursty: 0.1, periods: [240], on: [0.003, 0.02] },
];

/** Draws the behaviour of a function of this natural rate. */
export function drawBehaviour(naturalRate: number, random: Random): Behaviour {
  const { steady, timer, bursty } = bandOf(naturalRate);
  const draw = random();
  if (draw < steady) return 'steady';
  if (draw < steady + timer) return 'timer';
  return draw < steady + timer + bursty ? 'bursty' : 'clump';
}

/** Overwrites `weights` (one per minute) with the shape of such a function; at least one is positive. */
export function drawShape(
  behaviour: Behaviour,
  plan: FunctionPlan,
  weights: Float64Array,
  random: Random,
): void {
  weights.fill(0);
  SHAPES[behaviour](plan, weights, random);
}

const SHAPES: Readonly<
  Record<Behaviour, (plan: FunctionPlan, weights: Float64Array, random: Random) => void>
> = {
  steady: drawSteady,
  timer: drawTimer,
  bursty: drawBursty,
  clump: drawClump,
};

const MINUTES_PER_DAY = 1440;
/** Busiest time of the original day, as a share of it. */
const PEAK_OF_DAY = 0.62;

/** Half of the steady functions poll at an even rate, the others follow the day; a shorter trace counts as a day. */
function drawSteady({ total }: FunctionPlan, weights: Float64Array, random: Random): void {
  const even = random() < 0.5;
  const swing = even ? 0 : 0.2 + 0.6 * random();
  const peak = PEAK_OF_DAY + 0.08 * normal(random);
  const noise = even ? 0.02 * random() : 0.1 + 0.5 * random();
  const day = Math.min(MINUTES_PER_DAY, weights.length);
  for (let minute = 0; minute < weights.length; minute++) {
    const level = 1 + swing * Math.cos(2 * Math.PI * (minute / day - peak));
    weights[minute] = level * clumsy(total / weights.length, even, noise, random);
  }
}

function drawTimer({ naturalRate }: FunctionPlan, weights: Float64Array, random: Random): void {
  const { periods } = bandOf(naturalRate);
  const period = Math.min(periods[Math.floor(random() * periods.length)], weights.length);
  for (let minute = Math.floor(random() * period); minute < weights.length; minute += period)
    weights[minute] = 1;
}

function drawBursty({ naturalRate, total }: FunctionPlan, weights: Float64Array, random: Random): void {
  const [least, most] = bandOf(naturalRate).on;
  const share = least * (most / least) ** random();
  const burst = 1 + 30 * random() * random();
  const pause = (burst * (1 - share)) / share;
  const mean = total / (weights.length * share);
  let on = random() < share;
  let any = false;
  for (let minute = 0; minute < weights.length; minute++) {
    if (on) weights[minute] = clumsy(mean, false, 0.5, random);
    any ||= weights[minute] > 0;
    if (random() < 1 / Math.max(1, on ? burst : pause)) on = !on;
  }
  if (!any) weights[Math.floor(random() * weights.length)] = 1;
}

/** Concentrates all invocations in a few minutes, often in one. */
function drawClump({ total, largestMinute }: FunctionPlan, weights: Float64Array, random: Random): void {
  const least = Math.ceil(total / largestMinute);
  const most = Math.min(total, Math.max(least, 0.02 * weights.length));
  const minutes = random() < 0.6 ? least : least + Math.floor(random() * (most - least));
  for (let i = 0; i < minutes; i++) weights[Math.floor(random() * weights.length)] = 1;
}

/** Random factor with mean 1: relative noise, and the unevenness of few invocations. */
function clumsy(mean: number, even: boolean, noise: number, random: Random): number {
  const variance = noise * noise + (even ? 0 : 1 / mean);
  return variance < 1e-6 ? 1 : gamma(random, 1 / variance) * variance;
}

function bandOf(naturalRate: number) {
  return BANDS.find(({ fromRate }) => naturalRate >= fromRate) ?? BANDS[BANDS.length - 1];
}
