import { describe, expect, it } from 'vitest';
import type { Experiment } from '../../src/config/experiment.js';
import { madeUpProfile } from '../made-up-profile.js';
import { expected, rowsOf } from '../rows.js';
import { BASE, load } from './experiment-files.js';
import { rejection } from './failure.js';

const MS = 1e6;

const TWO_KINDS = `
  gpus:
    - { kind: v100, count: 4, memory: 16GiB, price: 2.48/h }
    - { kind: t4, count: 8, memory: 8GiB, price: 0.35/h, speed: 0.25 }`;

/** Three times as slow, without batches of 2, and in the other order. */
const SLOW_CSV = `model_id,weights_bytes,weights_transfer_ns,b1_ns,b4_ns,input_bytes,output_bytes
1,102160300,9000000,6000000,30000000,602112,4000
0,202160300,9000000,8190000,17640000,602112,4000
`;

const PROFILE = madeUpProfile({
  ...{ name: 'net', loadMs: 5, loadP99Ms: 10 },
  batches: [
    { batch: 1, medianMs: 2, p99Ms: 3, afterOtherMs: 4 },
    { batch: 4, medianMs: 6 },
  ],
});

function mixed({ gpus = TWO_KINDS, models = '{ kind: csv, path: models.csv }' } = {}): string {
  return BASE.replace('cluster: { gpus: 1, pages: 1376 }', `cluster:${gpus}`).replace(
    'models: { kind: csv, path: models.csv }',
    `models: ${models}`,
  );
}

function loadMixed(parts: Parameters<typeof mixed>[0], overrides: string[] = []): Promise<Experiment> {
  return load(mixed(parts), overrides, { 'slow.csv': SLOW_CSV, 'net.json': JSON.stringify(PROFILE) });
}

describe('cluster.gpus as a list of kinds', () => {
  it('says how many there are of each, how large and how dear they are', async () => {
    const { cluster } = await loadMixed({});
    expect(cluster.gpus).toBe(12);
    const [v100, t4] = [4, 8].map((max) => ({ min: 0, max, startNs: 0, minLifetimeNs: 0 }));
    expect(cluster.kinds).toEqual([
      { name: 'v100', gpus: 4, on: 4, scaled: v100, pages: 1024, pricePerHour: 2.48, speed: 1, device: null },
      { name: 't4', gpus: 8, on: 8, scaled: t4, pages: 512, pricePerHour: 0.35, speed: 0.25, device: null },
    ]);
  });

  it('leaves out a kind of which there is none, and is a number again by an override', async () => {
    const without = await loadMixed({}, ['cluster.gpus.0.count=0']);
    expect(without.cluster.kinds.map(({ name }) => name)).toEqual(['t4']);
    expect(without.models[0].execNs).toEqual([10.92, 16.2, 23.52].map((ms) => ms * MS));
    expect(without.models[0].otherKinds).toBeUndefined();
    const plain = await loadMixed({}, ['cluster.gpus=3']);
    expect([plain.cluster.gpus, plain.cluster.kinds[0].name]).toEqual([3, null]);
  });
});

describe('models on several kinds', () => {
  it('take what was measured on a kind, at the batch sizes that were measured on all', async () => {
    const models = '{ kind: csv, path: models.csv, profiles: { t4: slow.csv } }';
    const experiment = await loadMixed({ models });
    expect(
      experiment.models.map(({ name, batchSizes, execNs, otherKinds }) => [
        name,
        batchSizes,
        execNs,
        otherKinds,
      ]),
    ).toEqual([
      ['0', [1, 4], [2_730_000, 5_880_000], [{ loadNs: 9_000_000, execNs: [8_190_000, 17_640_000] }]],
      ['1', [1, 4], [2_730_000, 5_880_000], [{ loadNs: 9_000_000, execNs: [6_000_000, 30_000_000] }]],
    ]);
    // The larger weights of the two count.
    expect(experiment.models.map(({ pages }) => pages)).toEqual([13, 7]);
  });

  it('share the profile of a kind with their copies', async () => {
    const models = '{ kind: profile, path: net.json, copies: 2, profiles: { v100: net.json } }';
    const experiment = await loadMixed({ models });
    expect(experiment.models.map(({ name }) => name)).toEqual(['net-0', 'net-1']);
    expect(experiment.models[1]).toMatchObject({
      execNs: [2 * MS, 6 * MS],
      otherKinds: [{ loadNs: 5 * MS, execNs: [8 * MS, 24 * MS] }],
    });
    // What is drawn from the profile is as much slower.
    expect(experiment.spreads.map(([spread]) => spread?.switchNs)).toEqual([
      [2 * MS, 0],
      [8 * MS, 0],
    ]);
  });

  it('need no times on kinds that do not have them', async () => {
    const gpus = '\n  gpus: [{ kind: a }, { kind: b }, { kind: c, pages: 6, speed: 1 }]';
    const models =
      '[{ kind: profile, path: net.json, gpus: [b, a], profiles: { a: net.json, b: net.json } }]';
    const [model] = (await loadMixed({ gpus, models })).models;
    expect(model.notOn).toEqual([2]);
    const one = `[{ kind: csv, path: models.csv, gpus: [c] }]`;
    expect((await rejection(loadMixed({ gpus, models: one }))).message).toMatch(/needs 7 pages .* has 6/);
    const none = `[{ kind: csv, path: models.csv, gpus: [] }]`;
    expect((await rejection(loadMixed({ gpus, models: none }))).message).toMatch(
      /models\.0\.gpus: no GPU is of these kinds: add a kind with GPUs, or leave gpus out$/,
    );
  });
});

/** The list of GPUs and the profiles of the models, where they are other than usual; code and message. */
const MISTAKES = String.raw`
[{ kind: v100 }, { kind: t4 }] |  | E_CONFIG_VALUE | /exp\.yaml:4: models: 0 was not measured on t4: give profiles\.t4, or t4 a speed relative to the first kind$/
 | { t44: slow.csv } | E_CONFIG_VALUE | /exp\.yaml:6: models\.profiles\.t44: no GPUs are of the kind "t44": did you mean "t4"\?$/
2 | { t4: slow.csv } | E_CONFIG_VALUE | /exp\.yaml:4: models\.profiles\.t4: no GPUs are of the kind "t4": cluster\.gpus lists no kinds$/
[{ kind: v100, price: 2.48 }] |  | E_CONFIG_UNIT | /exp\.yaml:3: cluster\.gpus\.0\.price: 2\.48 has no unit: write a price such as 2\.48\/h \(units: \/s, \/m, \/h, \/d\)$/
[{ kind: a, pages: 2 }, { kind: b, pages: 6, speed: 1 }] |  | E_MODEL_TOO_LARGE | /models: model 0 needs 7 pages of 16MiB and the weights cache of the largest GPU, b, has 6: give a kind more memory$/
[{ kind: a }, { kind: a }] |  | E_CONFIG_VALUE | /cluster\.gpus\.1\.kind: a is listed twice: give one entry all of them$/
[{ kind: a, cout: 3 }] |  | E_CONFIG_KEY | /cluster\.gpus\.0\.cout: unknown key "cout": did you mean "count"\?$/
[{ count: 3 }] |  | E_CONFIG_VALUE | /cluster\.gpus\.0\.kind: is missing, and has no default$/
[{ kind: a, count: 0 }] |  | E_CONFIG_VALUE | /cluster\.gpus: needs at least one GPU: the count of every kind is 0$/
[] |  | E_CONFIG_VALUE | /cluster\.gpus: is an empty list: write at least one item$/
[{ kind: a, pages: 3, memory: 1GiB }] |  | E_CONFIG_VALUE | /cluster\.gpus\.0\.memory: give pages or memory, not both$/
 | { t4: gone.csv } | E_FILE_MISSING | /exp\.yaml:6: models\.profiles\.t4: .*gone\.csv: no such file/
`;

describe('a mistake in kinds of GPUs', () => {
  it.each(rowsOf(MISTAKES))('is one line: %s %s', async (gpus, profiles, code, message) => {
    const parts = {
      ...(gpus === '' ? {} : { gpus: `\n  gpus: ${gpus}` }),
      ...(profiles === '' ? {} : { models: `{ kind: csv, path: models.csv, profiles: ${profiles} }` }),
    };
    const error = await rejection(loadMixed(parts));
    expect([error.code, error.message]).toEqual([code, expected(message)]);
    expect(error.message).not.toContain('\n');
  });
});
