import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stream } from '../../../src/base/random/streams.js';
import { loadExperiment } from '../../../src/config/load.js';
import { boundOf } from '../../../src/run/bound.js';
import { simulate } from '../../../src/run/simulated.js';
import { tempDir } from '../../cli/run-cli.js';
import { onlineOptimum, type SlottedSystem, steady } from './online-optimum.js';

/** Times as those of a ResNet-50 on a V100 relative to an SLO of 10 ms. */
const TIGHT = { sloSlots: 7, sizes: [1, 2, 4], exec: [2, 3, 4] };
const BURSTS = { chance: [0.02, 0.7], change: [0.02, 0.08] } as const;
const SLOT_NS = 1_000_000;
const SLOTS = 100_000;

describe('the best rule without knowledge of the future', () => {
  it.each([0.1, 0.9])('is known for a server without a queue, with a chance of %d', (chance) => {
    // Busy for two slots, then free until a request comes.
    const optimum = onlineOptimum({ sloSlots: 2, sizes: [1], exec: [2], models: [steady(chance)] });
    expect(optimum).toBeCloseTo(1 / (2 + (1 - chance) / chance), 4);
  });

  it.each<[string, SlottedSystem]>([
    ['3 models, 75 %', { ...TIGHT, sloSlots: 6, models: [steady(0.25), steady(0.25), steady(0.25)] }],
    ['2 models, 60 and 20 %', { ...TIGHT, models: [steady(0.6), steady(0.2)] }],
    ['2 models in bursts', { ...TIGHT, sloSlots: 6, models: [BURSTS, BURSTS] }],
  ])('is nearly reached by escapement: %s', async (_, system) => {
    const optimum = onlineOptimum(system);
    const { escapement, edf, bound } = await play(system);
    // Arrivals at random give a little more or less than their chances say.
    expect(escapement).toBeLessThan(1.01 * optimum);
    expect(escapement).toBeGreaterThan(0.98 * optimum);
    expect(edf).toBeLessThan(1.01 * optimum);
    expect(bound).toBeGreaterThan(0.99 * optimum);
  });
});

/** Requests in time per slot of two schedulers, and the bound on those that know the future. */
async function play(system: SlottedSystem): Promise<Record<'escapement' | 'edf' | 'bound', number>> {
  const dir = tempDir();
  writeFileSync(join(dir, 'arrivals.csv'), arrivalsOf(system));
  const models = system.models.map((_, model) => {
    writeFileSync(join(dir, `${model}.json`), profileOf(system, model));
    return `{ kind: profile, path: ${model}.json }`;
  });
  const experiment = join(dir, 'slots.yaml');
  writeFileSync(
    experiment,
    `cluster: { gpus: 1, memory: 1GiB }
models: [${models.join(', ')}]
workload: { kind: arrivals, path: arrivals.csv }
slo: ${system.sloSlots}ms
warmup: 1s
admission: none
`,
  );
  const perSlot = async (policy: string) => {
    const { summary } = await simulate(await loadExperiment(experiment, [`policy=${policy}`]));
    return summary.goodputRps! / 1000;
  };
  return {
    escapement: await perSlot('{ kind: escapement, fairness: 0 }'),
    edf: await perSlot('{ kind: edf }'),
    bound: (await boundOf(await loadExperiment(experiment))).bestRps! / 1000,
  };
}

function arrivalsOf({ sloSlots, models }: SlottedSystem): string {
  const random = stream(1, 'slots');
  const phases = models.map(() => 0);
  const lines = ['arrival_ns,model_id,slo_ns'];
  for (let slot = 0; slot < SLOTS; slot++) {
    for (const [model, { chance, change }] of models.entries()) {
      if (random() < change[phases[model]]) phases[model] = 1 - phases[model];
      if (random() < chance[phases[model]]) lines.push(`${slot * SLOT_NS},${model},${sloSlots * SLOT_NS}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function profileOf({ sizes, exec }: SlottedSystem, model: number): string {
  const unknown = 'made up';
  return JSON.stringify({
    name: `model-${model}`,
    ...{ gpu: unknown, runtime: unknown, precision: unknown },
    ...{ weightsBytes: 1_000_000, loadMs: 0.001, inputBytes: 0, outputBytes: 0 },
    batches: sizes.map((batch, i) => ({ batch, medianMs: exec[i] })),
    source: { weights: unknown, load: unknown, copies: unknown, batches: unknown },
  });
}
