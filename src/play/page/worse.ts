import { formatDuration } from '../../config/units-text.js';
import type { Setup } from '../share/address.js';
import { durationAt, effectiveTree, listAt, textAt } from './effective.js';
import { withOverride } from './overrides.js';

/** A way to make the world worse from `nowNs` on. */
interface Worse {
  readonly label: string;
  readonly hint: string;
  apply(setup: Setup, nowNs: number): Setup;
}

const SLOWER_NS = 5_000_000;
const BURST = { kind: 'poisson', rate: '2000/s', duration: '500ms' };
const WRONG_PROFILES = '30%';

export const WAYS_WORSE: readonly Worse[] = [
  {
    label: 'Network 5 ms slower',
    hint: 'Each message takes 5 ms longer from now on',
    apply(setup, nowNs) {
      const tree = effectiveTree(setup, 0);
      const changes = listAt(tree, ['cluster', 'changes']);
      const last = changes.findLast(({ network }) => network !== undefined) ?? tree;
      const delayNs = durationAt(last === tree ? tree : { cluster: last }, ['cluster', 'network', 'delay']);
      const change = {
        at: formatDuration(nowNs),
        network: { delay: formatDuration(delayNs + SLOWER_NS) },
      };
      return withValue(setup, 'cluster.changes', [...changes, change]);
    },
  },
  {
    label: 'Lose a GPU',
    hint: 'The last GPU is gone from now on, with its actions',
    apply(setup, nowNs) {
      const tree = effectiveTree(setup, 0);
      const failures = listAt(tree, ['cluster', 'failures']);
      const lost = new Set(failures.filter((one) => one.for === 'forever').map(({ gpu }) => gpu));
      let gpu = Number(textAt(tree, ['cluster', 'gpus']) ?? 1) - 1;
      while (lost.has(gpu) && gpu > 0) gpu--;
      const failure = { at: formatDuration(nowNs), gpu, for: 'forever' };
      return withValue(setup, 'cluster.failures', [...failures, failure]);
    },
  },
  {
    label: 'A burst',
    hint: '2000 requests/s more for half a second from now on',
    apply(setup, nowNs) {
      const workloads = listAt(effectiveTree(setup, 0), ['workload']);
      return withValue(setup, 'workload', [...workloads, { ...BURST, start: formatDuration(nowNs) }]);
    },
  },
  {
    label: 'Wrong profiles',
    hint: 'Each model is up to 30 % faster or slower than its profile says, from the start of the run',
    apply: (setup) => ({
      ...setup,
      overrides: withOverride(setup.overrides, 'cluster.noise.profile', WRONG_PROFILES),
    }),
  },
];

/** Sets a value as JSON, which is YAML, too. */
function withValue(setup: Setup, key: string, value: unknown): Setup {
  return { ...setup, overrides: withOverride(setup.overrides, key, JSON.stringify(value)) };
}
