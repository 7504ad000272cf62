import { formatDuration } from '../../../src/config/units-text.js';
import { AUTO, type PolicyOption } from '../../../src/policies/entry.js';
import type { Section, Tree } from './candidate.js';
import type { Draw } from './draw.js';
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
      return draw.chance(0.1) ? formatDuration(min) : ns(draw.skewed(Math.max(min, 1e5), NS_PER_S));
    }
    case 'integer':
      return draw.skewed(min, max ?? MOST_COUNT);
    case 'number':
      return draw.chance(0.2) ? min : Number((min + draw.real(0.01, (max ?? 10) - min)).toFixed(3));
  }
}
