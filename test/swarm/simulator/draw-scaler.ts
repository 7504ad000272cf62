import { SCALERS } from '../../../src/scalers/registry.js';
import type { Section } from './candidate.js';
import type { Draw } from './draw.js';
import { ns } from './draw-models.js';
import { drawOptions } from './draw-options.js';

/** Any scaler that may go with the workload, which decides three to a hundred times in a run. */
export function drawScaler(draw: Draw, workload: readonly Section[], lengthNs: number): Section {
  const isClosed = workload.some(({ kind }) => kind === 'closed-loop');
  const entry = draw.pick(SCALERS.filter(({ needsHindsight }) => !(isClosed && needsHindsight)));
  return {
    kind: entry.kind,
    interval: ns(lengthNs / draw.real(3, 100)),
    ...drawOptions(draw, entry.options),
  };
}

/** Kinds whose numbers may change: at least one GPU stays, and at least one more may come or go. */
export function mayGrow(draw: Draw, kinds: readonly Section[], lengthNs: number): Section[] {
  return kinds.map((kind, i) => {
    const count = kind.count as number;
    const least = draw.chance(0.5) ? draw.int(0, count) : 0;
    const min = i === 0 ? Math.max(1, least) : least;
    const most = draw.chance(0.7) ? draw.int(count, count + 8) : count;
    return {
      ...kind,
      min,
      max: i === 0 ? Math.max(min + 1, most) : Math.max(1, most),
      ...draw.maybe(0.7, 'start', () => ns(draw.real(lengthNs / 1000, lengthNs / 4))),
    };
  });
}
