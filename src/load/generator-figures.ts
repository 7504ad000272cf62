import { NS_PER_MS } from '../base/units.js';
import type { Histogram } from '../record/histogram.js';
import type { GeneratorFigures, LatenessMs } from '../record/results.js';
import type { PlayReport } from './player.js';

/** How well requests were sent, of which `waited` had to wait for a free connection. */
export function generatorFigures(
  { lateness, refused }: Pick<PlayReport, 'lateness' | 'refused'>,
  waited: number,
  wakeLatenessNs: readonly number[] = [],
): GeneratorFigures {
  const ascending = wakeLatenessNs.toSorted((a, b) => a - b);
  const wakeMs = (share: number) =>
    ascending[Math.min(ascending.length - 1, Math.floor(share * ascending.length))] / NS_PER_MS;
  return {
    ...(lateness.count === 0 ? {} : { sentLateMs: sentLateMs(lateness) }),
    ...(ascending.length === 0
      ? {}
      : { timersLateMs: { p50: wakeMs(0.5), p99: wakeMs(0.99), max: wakeMs(1) } }),
    waitedForConnection: waited,
    notSent: refused,
  };
}

function sentLateMs(lateness: Histogram): LatenessMs {
  const [p50, p99, max] = [50, 99, 100].map((percent) => lateness.percentile(percent) / NS_PER_MS);
  return { p50, p99, max };
}
