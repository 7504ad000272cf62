import { formatDuration } from '../../../src/config/units-text.js';
import { AUTO, type PolicyOption } from '../../../src/policies/entry.js';
import { POLICIES } from '../../../src/policies/registry.js';
import type { Candidate, Section, Tree } from './candidate.js';
import { Draw } from './draw.js';
import { drawCluster } from './draw-cluster.js';
import { drawModels, ns } from './draw-models.js';
import { drawWorkload, type ExperimentSize } from './draw-workload.js';

const MIB = 1 << 20;
const NS_PER_S = 1e9;
/** Where an option has no largest value. */
const MOST_COUNT = 64;

/** Every so many seeds one is of an experiment that takes seconds, and some of these take more. */
export const LONG_EVERY = 8;
export const HUGE_EVERY = 64;

export function sizeOf(seed: number): ExperimentSize {
  if (seed % HUGE_EVERY === 0) return 'huge';
  return seed % LONG_EVERY === 0 ? 'long' : 'short';
}

/** The experiment of a seed. A few seeds draw what is refused, such as a load where no batch ends within its SLO. */
export function drawExperiment(seed: number): Candidate {
  const draw = new Draw(seed, 'experiment');
  const pageMib = draw.pick([null, null, null, 1, 4, 64]);
  const models = drawModels(draw, (pageMib ?? 16) * MIB);
  const gpus = drawGpus(draw);
  const workload = drawWorkload(draw, { models, gpus, size: sizeOf(seed) });
  const pageSize = pageMib === null ? {} : { pageSize: `${pageMib}MiB` };
  const tree = {
    seed: draw.int(0, 1000),
    cluster: { ...pageSize, ...drawCluster(draw, { gpus, models, lengthNs: workload.lengthNs }) },
    models: models.sections,
    workload: workload.sections,
    ...draw.maybe(0.2, 'slo', () => ns(draw.skewed(1e6, 5e9))),
    policy: drawPolicy(draw),
    ...draw.maybe(0.4, 'admission', () => 'none'),
    ...draw.maybe(0.4, 'missedWindow', () => draw.pick(['retry', 'fail'])),
    ...draw.maybe(0.2, 'warmup', () => ns(workload.lengthNs * draw.pick([0.1, 0.5]))),
    ...draw.maybe(0.3, 'output', () => ({ timeline: draw.pick<Tree>([false, ['0s', '10ms']]) })),
  };
  return { tree, files: { ...models.files, ...workload.files } };
}

/** Any policy, with valid options: those that are left out have their defaults. */
function drawPolicy(draw: Draw): Section {
  const { kind, options } = draw.pick(POLICIES);
  const drawn = Object.entries(options).map(([name, option]) =>
    draw.maybe(0.4, name, () => drawOption(draw, option)),
  );
  return Object.assign({ kind }, ...drawn);
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

/** Now and then more than a word of bits holds. */
function drawGpus(draw: Draw): number {
  return draw.chance(0.05) ? draw.int(31, 40) : draw.skewed(1, 20);
}
