import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../../src/browser/parse.js';
import type { Experiment } from '../../../src/config/experiment.js';
import { effectiveTree } from '../../../src/play/page/effective.js';
import { knobsOf } from '../../../src/play/page/knobs.js';
import { WAYS_WORSE } from '../../../src/play/page/worse.js';
import type { Setup } from '../../../src/play/share/address.js';

const MS = 1e6;
const SETUP: Setup = {
  file: 'experiment.yaml',
  text: `cluster: { gpus: 2, network: { delay: 1ms } }
models: { kind: zoo, varieties: 3 }
workload: { kind: poisson, rate: 300/s, duration: 10s }
slo: 50ms
`,
  ...{ overrides: [], lanes: [[]], files: {} },
};

/** What the engine makes of a setup. */
function experimentOf({ text, overrides }: Setup): Promise<Experiment> {
  return parseExperiment(text, { overrides });
}

describe('making the world worse', () => {
  const way = (label: string) => WAYS_WORSE.find((worse) => worse.label.includes(label))!;

  it('slows the network by 5 ms each time, on top of what is in force', async () => {
    const once = way('Network').apply(SETUP, 2000 * MS);
    const { cluster } = await experimentOf(way('Network').apply(once, 3000.5 * MS));
    expect(cluster.changes.map(({ atNs, network }) => [atNs, network.delayNs])).toEqual([
      [2000 * MS, 6 * MS],
      [3000.5 * MS, 11 * MS],
    ]);
  });

  it('loses one GPU after the other', async () => {
    const once = way('GPU').apply(SETUP, MS);
    const { cluster } = await experimentOf(way('GPU').apply(once, 2 * MS));
    expect(cluster.failures).toMatchObject([
      { atNs: MS, gpu: 1, forNs: Number.POSITIVE_INFINITY },
      { atNs: 2 * MS, gpu: 0, forNs: Number.POSITIVE_INFINITY },
    ]);
  });

  it('adds a burst to what arrives, which the load can still be set of', async () => {
    const burst = way('burst').apply(SETUP, 5 * MS);
    const knob = knobsOf(effectiveTree(burst, 0)).find(({ label }) => label === 'Load')!;
    const { workloads } = await experimentOf(knob.set(burst, '100/s'));
    expect(workloads).toMatchObject([
      { kind: 'poisson', rateRps: 100 },
      { kind: 'poisson', rateRps: 2000, startNs: 5 * MS, durationNs: 500 * MS },
    ]);
  });

  it('gives wrong profiles', async () => {
    expect((await experimentOf(way('profiles').apply(SETUP, 0))).cluster.noise.profile).toBe(0.3);
  });
});

describe('knobs', () => {
  it('set what they say, each choice of each of them', async () => {
    for (const knob of knobsOf(effectiveTree(SETUP, 0)))
      for (const choice of knob.choices) {
        const set = knob.set(SETUP, choice);
        await experimentOf(set);
        const again = knobsOf(effectiveTree(set, 0)).find(({ label }) => label === knob.label);
        expect(again?.value, knob.label).toBe(choice);
      }
  });

  it('are those that the experiment has', () => {
    const labels = (text: string) => knobsOf(effectiveTree({ ...SETUP, text }, 0)).map(({ label }) => label);
    const trace = 'models: { kind: csv, path: m.csv }\nworkload: { kind: arrivals, path: a.csv }\n';
    expect(labels(SETUP.text)).toEqual(expect.arrayContaining(['Load', 'Arrivals', 'Copies', 'SLO']));
    expect(labels(trace)).toEqual(['SLO', 'GPUs', 'Network', 'Noise', 'Seed']);
    expect(labels('{ not yaml')).toContain('SLO');
  });
});
