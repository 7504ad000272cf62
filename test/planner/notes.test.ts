import { expect, test } from 'vitest';
import { parseExperiment } from '../../src/experiment/load.js';
import { trafficNotes } from '../../src/planner/notes.js';
import { parseOver } from '../../src/planner/over.js';
import { SMALL_EXPERIMENT } from '../cli/run-cli.js';

test('a load that follows the planned key is pointed out, for it is other traffic at every value', async () => {
  expect(await notesOf('cluster.gpus=1:4', 'workload.load=50%')).toEqual([
    expect.stringMatching(/^load is a share of what the GPUs can serve, which depends on GPUs: /),
  ]);
  expect(await notesOf('cluster.gpus=1:4', 'workload.rate=100/s')).toEqual([]);
  expect(await notesOf('cluster.pages=64:128', 'workload.load=50%')).toEqual([]);
});

test('traffic may change where it is what is planned', async () => {
  expect(await notesOf('workload.rate=100/s:200/s', 'name=any')).toEqual([]);
});

/** Notes for a range of a key, with an override at both ends. */
function notesOf(text: string, override: string) {
  const over = parseOver(text);
  const experiment = override.startsWith('workload.load')
    ? SMALL_EXPERIMENT.replace(/rate: [^,]+,/, '')
    : SMALL_EXPERIMENT;
  const end = (value: string) =>
    parseExperiment(experiment, 'small.yaml', [override, `${over.key}=${value}`]);
  return Promise.all([end(over.from), end(over.to)]).then((ends) => trafficNotes(over, ends));
}
