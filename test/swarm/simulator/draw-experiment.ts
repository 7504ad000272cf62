import { POLICIES } from '../../../src/policies/registry.js';
import { Draw } from '../draw.js';
import type { Candidate, Section, Tree } from './candidate.js';
import { drawCluster } from './draw-cluster.js';
import { drawModels, ns } from './draw-models.js';
import { drawPipelines, toPipelines } from './draw-pipelines.js';
import { drawOptions, drawScaler, mayGrow } from './draw-policy.js';
import { drawSenders } from './draw-senders.js';
import { drawWorkload, type ExperimentSize } from './draw-workload.js';

const MIB = 1 << 20;

/** Every so many seeds one is of an experiment that takes seconds, and some of these take more. */
export const LONG_EVERY = 8;

export function sizeOf(seed: number): ExperimentSize {
  return seed % LONG_EVERY === 0 ? 'long' : 'short';
}

/** The experiment of a seed. A few seeds draw what is refused, such as a load where no batch ends within its SLO. */
export function drawExperiment(seed: number): Candidate {
  const draw = new Draw(seed, 'experiment');
  const pageMib = draw.pick([null, null, null, 1, 4, 64]);
  const models = drawModels(draw, (pageMib ?? 16) * MIB);
  const gpus = drawGpus(draw);
  const workload = drawWorkload(draw, { models, gpus, size: sizeOf(seed) });
  const { lengthNs } = workload;
  const pageSize = pageMib === null ? {} : { pageSize: `${pageMib}MiB` };
  const senders = drawSenders(new Draw(seed, 'senders'), workload.sections, workload.rateRps);
  const tree = {
    seed: draw.int(0, 1000),
    cluster: { ...pageSize, ...drawCluster(draw, { gpus, models, lengthNs }) },
    models: models.sections,
    ...senders.sections,
    workload: senders.workload,
    ...draw.maybe(0.2, 'slo', () => ns(draw.log(1e6, 5e9))),
    policy: drawPolicy(draw, models.longest !== null && draw.chance(0.5)),
    ...draw.maybe(0.4, 'admission', () => 'none'),
    ...draw.maybe(0.4, 'missedWindow', () => draw.pick(['retry', 'fail'])),
    ...draw.maybe(0.2, 'warmup', () => ns(lengthNs * draw.pick([0.1, 0.5]))),
    ...draw.maybe(0.3, 'output', () => ({ timeline: draw.pick<Tree>([false, ['0s', '10ms']]) })),
    ...(models.longest === null ? {} : draw.maybe(0.4, 'padding', () => draw.pick(['batch', 'longest']))),
  };
  return {
    tree: scaled(piped(tree, new Draw(seed, 'pipelines'), models.names), new Draw(seed, 'scaler'), lengthNs),
    files: { ...models.files, ...workload.files },
  };
}

/** In a quarter of the cases most requests are for pipelines. */
function piped<T extends { readonly workload: readonly Section[] }>(
  tree: T,
  draw: Draw,
  models: readonly string[],
): T {
  if (!draw.chance(0.25)) return tree;
  const pipelines = drawPipelines(draw, models);
  return { ...tree, pipelines, workload: toPipelines(draw, tree.workload, pipelines) };
}

/** In a quarter of the cases GPUs come and go. */
function scaled<T extends { readonly cluster: Section; readonly workload: readonly Section[] }>(
  tree: T,
  draw: Draw,
  lengthNs: number,
): T {
  if (!draw.chance(0.25)) return tree;
  const { gpus } = tree.cluster;
  const kinds = typeof gpus === 'number' ? [{ kind: 'only', count: gpus }] : (gpus as Section[]);
  return {
    ...tree,
    cluster: { ...tree.cluster, gpus: mayGrow(draw, kinds, lengthNs) },
    scaler: drawScaler(draw, tree.workload, lengthNs),
  };
}

/** Any policy, with valid options. */
function drawPolicy(draw: Draw, knowsLengths: boolean): Section {
  const { kind, options } = draw.pick(
    knowsLengths ? POLICIES.filter(({ batchesByLength }) => batchesByLength) : POLICIES,
  );
  return { kind, ...drawOptions(draw, options) };
}

/** Now and then more than a word of bits holds. */
function drawGpus(draw: Draw): number {
  return draw.chance(0.05) ? draw.int(31, 40) : draw.log(1, 20);
}
