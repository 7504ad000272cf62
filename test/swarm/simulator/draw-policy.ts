import { formatDuration } from '../../../src/config/units-text.js';
import { AUTO, type PolicyOption } from '../../../src/policies/entry.js';
import { SCALERS } from '../../../src/scalers/registry.js';
import type { Draw } from '../draw.js';
import type { Section, Tree } from './candidate.js';
import { ns } from './draw-models.js';

const NS_PER_S = 1e9;
/** Where an option has no largest value. */
const MOST_COUNT = 64;

/** Valid options of a policy or a scaler: those that are left out have their defaults. */
export function drawOptions(draw: Draw, options: Readonly<Record<string, PolicyOption>>): Section {
  const drawn = Object.entries(options).map(([name, option]) =>
    draw.maybe(0.4, name, () => drawOption(draw, option)),
  );
  return Object.assign({}, ...drawn);
}

function drawOption(draw: Draw, { type, min, max, auto }: PolicyOption): Tree {
  switch (type) {
    case 'duration': {
      if (auto !== undefined && draw.chance(0.5)) return AUTO;
      return draw.chance(0.1) ? formatDuration(min) : ns(draw.log(Math.max(min, 1e5), NS_PER_S));
    }
    case 'integer':
      return draw.log(min, max ?? MOST_COUNT);
    case 'number':
      return draw.chance(0.2) ? min : Number((min + draw.real(0.01, (max ?? 10) - min)).toFixed(3));
  }
}

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
