import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { GivenFiles } from '../../src/browser/given-files.js';
import { parseExperiment } from '../../src/browser/index.js';
import { simulate } from '../../src/run/simulated.js';
import { Simulation } from '../../src/run/simulation.js';
import { BASE, load, MODELS_CSV } from '../config/experiment-files.js';
import { rejection } from '../config/failure.js';

const MS = 1e6;
const ROWS = Array.from({ length: 40_000 }, (_, i) => `${i * 50_000},${i % 2},${50 * MS}`).join('\n');
const TRACE = `arrival_ns,model_id,slo_ns\n${ROWS}\n`;
const TEXT = BASE.replace(/^workload:.*\n/m, 'workload: { kind: arrivals, path: traces/day.csv }\n');

async function digestOf(experiment: Awaited<ReturnType<typeof parseExperiment>>): Promise<string> {
  const simulation = await Simulation.open(experiment);
  await simulation.advance(Number.POSITIVE_INFINITY);
  return simulation.result().summary.digest;
}

describe('an experiment in a page', () => {
  it('decides what it decides on disk, with traces as text, as bytes, and packed', async () => {
    const onDisk = TEXT.replace('traces/day.csv', 'day.csv');
    const { digest } = (await simulate(await load(onDisk, [], { 'day.csv': TRACE }))).summary;
    const packed = TEXT.replace('day.csv', 'day.csv.gz');
    for (const [text, path, content] of [
      [TEXT, 'traces/day.csv', TRACE],
      [TEXT, './traces/day.csv', new TextEncoder().encode(TRACE)],
      [packed, 'traces/day.csv.gz', new Uint8Array(gzipSync(TRACE))],
    ] as const) {
      const files = { 'models.csv': MODELS_CSV, [path]: content };
      expect(await digestOf(await parseExperiment(text, { files }))).toBe(digest);
    }
  });

  it('rejects what is no YAML, with line and column', async () => {
    const failure = await parseExperiment('models: { kind: zoo\nworkload: [').catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({
      code: 'E_CONFIG_SYNTAX',
      message: expect.stringMatching(/^experiment\.yaml:\d/),
    });
  });

  it('reads no file but those that it was given', async () => {
    const files = { 'models.csv': MODELS_CSV };
    expect(await rejection(parseExperiment(TEXT, { files }))).toMatchObject({
      code: 'E_FILE_MISSING',
      message: 'experiment.yaml:4: workload.path: traces/day.csv: was not given; there are models.csv',
    });
    const plugin = `${BASE}plugins: [mine.js]\n`;
    expect(await rejection(parseExperiment(plugin, { files, file: 'shared' }))).toMatchObject({
      code: 'E_PLUGIN',
      message: 'mine.js: a page cannot load modules: import it and pass its policies',
    });
  });

  it('says that packed data is damaged', async () => {
    const whole = new Uint8Array(gzipSync(TRACE));
    const text = TEXT.replace('day.csv', 'day.csv.gz');
    const files = { 'models.csv': MODELS_CSV, 'traces/day.csv.gz': whole.subarray(0, whole.length - 1000) };
    expect(await rejection(parseExperiment(text, { files }).then(digestOf))).toMatchObject({
      code: 'E_FILE_TRUNCATED',
    });
  });

  it('finds the newest version of a model that is in a folder', async () => {
    const files = new GivenFiles({
      'models/a/1/profile.cpu.json': '{}',
      'models/a/12/profile.cpu.json': '{}',
    });
    expect(await files.entries('models/a')).toEqual(['1', '12']);
    expect(await files.entries('models/b')).toEqual([]);
  });
});
