import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseExperiment } from '../../../src/browser/parse.js';
import { loadExperiment } from '../../../src/config/load.js';
import { experimentYaml } from '../../../src/play/share/experiment-yaml.js';
import { simulate } from '../../../src/run/simulated.js';
import { Simulation } from '../../../src/run/simulation.js';
import { tempDir, writeIn } from '../../cli/run-cli.js';
import { BASE, MODELS_CSV } from '../../config/experiment-files.js';

it('a lane as a file of its own has the digest of the page, its files next to it', async () => {
  const dir = tempDir();
  const text = BASE.replace('models.csv', 'lists/models.csv');
  const overrides = ['slo=40ms', 'cluster.changes=[{ "at": "1s", "network": { "delay": "5ms" } }]'];
  const lane = ['policy={ kind: edf }'];
  const files = { 'lists/models.csv': MODELS_CSV };
  const setup = { file: 'mine.yaml', text, overrides, lanes: [[], lane], files };
  const inPage = await Simulation.open(
    await parseExperiment(text, { overrides: [...overrides, ...lane], files }),
  );
  await inPage.advance(Number.POSITIVE_INFINITY);
  writeFileSync(join(dir, 'models.csv'), MODELS_CSV);
  const file = writeIn(dir, 'experiment.yaml', experimentYaml(setup, 1));
  const { summary } = await simulate(await loadExperiment(file));
  expect(summary.policy).toBe('edf');
  expect(summary.digest).toBe(inPage.result().summary.digest);
});
