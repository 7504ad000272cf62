import { SPLITS } from '../../../src/core/pipelines.js';
import type { Draw } from '../draw.js';
import type { Section, Tree } from './candidate.js';

/** Graphs of up to six steps, each after some of those before it. */
export function drawPipelines(draw: Draw, models: readonly string[]): Section[] {
  return draw.list(1, 3, (p) => ({
    name: `pipeline${p}`,
    ...draw.maybe(0.7, 'split', () => draw.pick(SPLITS)),
    steps: draw.list(1, draw.pick([1, 2, 3, 6]), (s) => ({
      id: `step${s}`,
      model: draw.pick(models),
      ...draw.maybe(s === 0 ? 0 : 0.85, 'after', () =>
        [...new Set(draw.list(1, 3, () => draw.int(0, s - 1)))].map((before) => `step${before}`),
      ),
      ...draw.maybe(0.4, 'fanOut', () => drawFanOut(draw)),
      ...draw.maybe(0.25, 'probability', () => draw.pick(['5%', '50%', '90%'])),
      ...draw.maybe(0.3, 'budget', () => draw.int(1, 9)),
    })),
  }));
}

function drawFanOut(draw: Draw): Tree {
  switch (draw.pick(['constant', 'uniform', 'poisson', 'list'] as const)) {
    case 'constant':
      return draw.int(1, 4);
    case 'uniform':
      return { kind: 'uniform', from: draw.int(0, 2), to: draw.int(2, 8) };
    case 'poisson':
      return { kind: 'poisson', mean: draw.pick([0.1, 1, 3]), max: draw.int(1, 12) };
    case 'list':
      return { kind: 'list', values: draw.list(1, 4, () => draw.pick([0, 0, 1, 2, 20])) };
  }
}

/** Sends most sections to pipelines, as those without models are by default. */
export function toPipelines(
  draw: Draw,
  workload: readonly Section[],
  pipelines: readonly Section[],
): Section[] {
  return workload.map((section) => {
    if (draw.chance(0.2)) return section;
    const { models: _, ...rest } = section;
    return { ...rest, ...draw.maybe(0.3, 'models', () => draw.pick(pipelines).name as string) };
  });
}
