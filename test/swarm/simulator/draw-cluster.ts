import type { Draw } from '../draw.js';
import type { Section } from './candidate.js';
import { type DrawnModels, ns } from './draw-models.js';

const US = 1000;
const MS = 1e6;

interface Surroundings {
  readonly gpus: number;
  readonly models: DrawnModels;
  /** About how long the run is. */
  readonly lengthNs: number;
}

/** The cluster, with every way in which it may depart from the ideal on or off for itself. */
export function drawCluster(draw: Draw, { gpus, models, lengthNs }: Surroundings): Section {
  return {
    gpus: draw.chance(0.8) ? gpus : drawKinds(draw, gpus, models),
    ...draw.maybe(0.3, 'workers', () => draw.int(1, gpus)),
    pages: drawPages(draw, models),
    ...draw.maybe(0.2, 'lanes', () => 'one'),
    ...draw.maybe(0.25, 'copyBandwidth', () => `${draw.log(1, 20)}GB/s`),
    ...draw.maybe(0.35, 'network', () => network(draw)),
    ...draw.maybe(0.15, 'clockOffset', () => ns(draw.log(10 * US, 20 * MS))),
    ...draw.maybe(0.35, 'noise', () => ({ ...noise(draw), ...profiles(draw, models) })),
    ...draw.maybe(0.25, 'overhead', () => ns(draw.log(US, MS))),
    ...draw.maybe(0.3, 'abort', () => draw.pick(['0s', '100us', '5ms'])),
    ...draw.maybe(0.2, 'gpuClock', () => draw.list(1, 4, () => clockChange(draw, gpus, lengthNs))),
    ...draw.maybe(0.2, 'changes', () => draw.list(1, 3, () => change(draw, lengthNs))),
    ...draw.maybe(0.2, 'failures', () => draw.list(1, 3, () => failure(draw, gpus, lengthNs))),
  };
}

/** Up to three kinds that differ in speed and memory. */
function drawKinds(draw: Draw, gpus: number, models: DrawnModels): Section[] {
  const kinds = draw.int(1, Math.min(3, gpus));
  let left = gpus;
  return Array.from({ length: kinds }, (_, i) => {
    const count = i === kinds - 1 ? left : draw.int(1, left - (kinds - 1 - i));
    left -= count;
    return {
      kind: `kind${i}`,
      count,
      ...draw.maybe(0.5, 'pages', () => drawPages(draw, models)),
      ...draw.maybe(i === 0 ? 0 : 1, 'speed', () => Number(draw.real(0.2, 4).toFixed(2))),
      ...draw.maybe(0.3, 'price', () => `${draw.int(1, 9)}/h`),
    };
  });
}

function failure(draw: Draw, gpus: number, lengthNs: number): Section {
  const billed = draw.chance(0.5);
  const away = ns(draw.log(100 * US, lengthNs));
  return {
    ...{ at: ns(draw.log(1, lengthNs)), gpu: draw.int(0, gpus - 1), billed },
    for: draw.chance(0.2) ? 'forever' : away,
    ...draw.maybe(0.3, 'slowdown', () => Number(draw.real(1, 20).toFixed(1))),
  };
}

/** Often room for no more than the largest model. */
function drawPages(draw: Draw, { largestPages, totalPages }: DrawnModels): number {
  const most = Math.max(largestPages, totalPages);
  return draw.pick([
    largestPages,
    draw.int(largestPages, 2 * largestPages),
    draw.log(largestPages, most),
    most,
  ]);
}

/** A message takes no time, or one that a network could take: GPUs that refuse LOADs are asked once every round trip. */
function network(draw: Draw): Section {
  return {
    delay: draw.chance(0.3) ? '0s' : ns(draw.log(20 * US, 10 * MS)),
    ...draw.maybe(0.6, 'jitter', () => ns(draw.log(20 * US, 10 * MS))),
  };
}

function noise(draw: Draw): Section {
  return {
    ...draw.maybe(0.5, 'exec', () => draw.pick(['1%', '10%', '50%'])),
    ...draw.maybe(0.4, 'load', () => draw.pick(['1%', '30%'])),
    ...draw.maybe(0.3, 'stragglers', () => draw.pick(['0.1%', '5%', '100%'])),
    ...draw.maybe(0.3, 'stragglerFactor', () => draw.int(1, 50)),
  };
}

/** How durations follow from profiles; only measured ones have quantiles to draw from. */
function profiles(draw: Draw, { sections }: DrawnModels): Section {
  const isMeasured = sections.some(({ kind }) => kind === 'profile');
  return {
    ...draw.maybe(0.3, 'profile', () => '20%'),
    ...draw.maybe(isMeasured ? 0.5 : 0, 'distribution', () => 'profile'),
  };
}

function clockChange(draw: Draw, gpus: number, lengthNs: number): Section {
  return {
    at: ns(draw.real(1, lengthNs)),
    ...draw.maybe(0.5, 'gpu', () => draw.int(0, gpus - 1)),
    factor: draw.pick([0.1, 0.5, 0.8, 1, 1.1, 2]),
  };
}

function change(draw: Draw, lengthNs: number): Section {
  const changes = {
    ...draw.maybe(0.5, 'noise', () => noise(draw)),
    ...draw.maybe(0.7, 'network', () => network(draw)),
  };
  return { at: ns(draw.real(1, lengthNs)), network: { delay: '1ms' }, ...changes };
}
