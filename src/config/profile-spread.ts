import { NS_PER_MS } from '../base/units.js';
import type { DurationSpread, ModelSpread } from '../sim/spread.js';
import type { Path } from './document.js';
import { allBatches, type Profile } from './profile.js';

/**
 * How the measured durations of a profile spread, for simulations that draw them; null where it holds no more
 * than one figure of each.
 */
export function profileSpread(profile: Profile): ModelSpread | null {
  const batches = allBatches(profile);
  const exec = batches.map((batch) => spreadOf(batchQuantiles(batch), batch.medianMs));
  const load = spreadOf(loadQuantiles(profile), profile.loadMs);
  const switchNs = batches.map(({ medianMs, afterOtherMs = medianMs }) =>
    Math.round(Math.max(0, afterOtherMs - medianMs) * NS_PER_MS),
  );
  const isKnown = load !== null || exec.some((spread) => spread !== null) || switchNs.some((ns) => ns > 0);
  return isKnown ? { exec, load, switchNs } : null;
}

/** The first quantiles of a profile that do not ascend, and where they are; null where all do. */
export function crossedQuantiles(profile: Profile): { readonly what: string; readonly path: Path } | null {
  if (!ascends(loadQuantiles(profile)))
    return { what: 'loadMs, loadP99Ms and loadMaxMs must ascend', path: ['loadMs'] };
  const batch = profile.batches.findIndex((measured) => !ascends(batchQuantiles(measured)));
  return batch < 0
    ? null
    : { what: 'minMs, medianMs, p90Ms, p99Ms and maxMs must ascend', path: ['batches', batch] };
}

/** A share of the runs and what they took at most; undefined: not measured. */
type Quantile = readonly [share: number, ms: number | undefined];

function batchQuantiles({ minMs, medianMs, p90Ms, p99Ms, maxMs }: Profile['batches'][number]): Quantile[] {
  return [
    [0, minMs],
    [0.5, medianMs],
    [0.9, p90Ms],
    [0.99, p99Ms],
    [1, maxMs],
  ];
}

function loadQuantiles({ loadMs, loadP99Ms, loadMaxMs }: Profile): Quantile[] {
  return [
    [0.5, loadMs],
    [0.99, loadP99Ms],
    [1, loadMaxMs],
  ];
}

/** Where an end was not measured, the nearest measured quantile replaces it. */
function spreadOf(quantiles: readonly Quantile[], medianMs: number): DurationSpread | null {
  const known = measured(quantiles);
  if (known.length < 2) return null;
  const [first, last] = [known[0]!, known[known.length - 1]!];
  if (first.share > 0) known.unshift({ share: 0, ms: first.ms });
  if (last.share < 1) known.push({ share: 1, ms: last.ms });
  return { shares: known.map(({ share }) => share), factors: known.map(({ ms }) => ms / medianMs) };
}

function ascends(quantiles: readonly Quantile[]): boolean {
  const known = measured(quantiles);
  return known.every(({ ms }, i) => i === 0 || ms >= known[i - 1]!.ms);
}

function measured(quantiles: readonly Quantile[]): { share: number; ms: number }[] {
  return quantiles.flatMap(([share, ms]) => (ms === undefined ? [] : [{ share, ms }]));
}
