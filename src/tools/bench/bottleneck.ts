import { type Estimate, studentT95 } from '../../report/statistics.js';
import { type BenchRun, type Bottleneck, type Service, stageOf } from './result.js';

/** Share by which FULL may fall behind the slower part before something between them is the bottleneck. */
const TOLERATED_LOSS = 0.1;
/** An event loop this busy is saturated. */
const SATURATED = 0.9;

/**
 * The part that limits a run, by the first rule that applies; differences within the noise are `unclear`:
 * 1. FULL is behind the slower of IO and SYNTHETIC by more than `TOLERATED_LOSS`: the part between them, or the clients
 *    if they were saturated.
 * 2. The slower of the two; for IO, the clients if they were saturated.
 */
export function bottleneckOf(run: Pick<BenchRun, 'stages'>): Bottleneck {
  const [io, device, full] = (['io', 'synthetic', 'full'] as const).map((name) => stageOf(run, name));
  const [slower, faster] = io.throughputRps.mean < device.throughputRps.mean ? [io, device] : [device, io];
  if (full.throughputRps.mean < (1 - TOLERATED_LOSS) * slower.throughputRps.mean) {
    if (!isAbove(slower.throughputRps, full.throughputRps)) return 'unclear';
    return generatorLimits(full.service) ? 'generator' : 'between';
  }
  if (slower === io && generatorLimits(io.service)) return 'generator';
  if (!isAbove(faster.throughputRps, slower.throughputRps)) return 'unclear';
  return slower === io ? 'io' : 'device';
}

/** True if the clients' process was saturated, and more so than the server. */
export function generatorLimits(service: Service | null): boolean {
  if (service === null) return false;
  const { generator, server } = service;
  return generator.busy >= SATURATED && generator.busy > server.busy;
}

/**
 * True if the mean of `a` exceeds that of `b` beyond the noise: the 95 % confidence interval of their difference
 * (Welch, degrees of freedom by Satterthwaite, rounded down) is above 0. One repetition says nothing about the spread.
 */
export function isAbove(a: Estimate, b: Estimate): boolean {
  if (a.n < 2 || b.n < 2) return false;
  const [va, vb] = [a.sd ** 2 / a.n, b.sd ** 2 / b.n];
  if (va + vb === 0) return a.mean > b.mean;
  const degrees = (va + vb) ** 2 / (va ** 2 / (a.n - 1) + vb ** 2 / (b.n - 1));
  return a.mean - b.mean > studentT95(Math.max(1, Math.floor(degrees))) * Math.sqrt(va + vb);
}
