import { expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import { sloNote } from '../../src/config/policy-notes.js';

const experiment = (models: string, workload: string, slo: string) =>
  parseExperiment(`models: ${models}\nworkload: ${workload}\nslo: ${slo}\n`, 'experiment.yaml', []);
const noteOf = async (models: string, workload: string, slo: string) =>
  sloNote(await experiment(models, workload, slo));

const ZOO = '{ kind: zoo, varieties: 4 }';
const STEADY = '{ kind: poisson, rate: 10/s, duration: 1s }';

it('says that an SLO is shorter than an INFER of all models, of some, or of none', async () => {
  const { models } = await experiment(ZOO, STEADY, '1s');
  const [fastest, , , slowest] = models.map(({ execNs }) => execNs[0]!).sort((a, b) => a - b) as number[];
  expect(await noteOf(ZOO, STEADY, `${fastest! - 1}ns`)).toMatch(
    /shorter than an INFER of all 4 models, .* takes \d/,
  );
  expect(await noteOf(ZOO, STEADY, `${slowest! - 1}ns`)).toMatch(/shorter than an INFER of 1 of 4 models/);
  expect(await noteOf(ZOO, STEADY, `${slowest}ns`)).toBeNull();
});

it('goes by the longest SLO of the sections, and the fastest kind of GPUs', async () => {
  const sections =
    '[{ kind: poisson, rate: 1/s, duration: 1s, slo: 1s }, { kind: fixed, rate: 1/s, duration: 1s }]';
  expect(await noteOf(ZOO, sections, '1us')).toBeNull();
  const kinds = 'cluster: { gpus: [{ kind: slow }, { kind: fast, speed: 100 }] }\n';
  const text = `${kinds}models: ${ZOO}\nworkload: ${STEADY}\nslo: 1ms\n`;
  expect(sloNote(await parseExperiment(text, 'experiment.yaml', []))).toBeNull();
});
