import { expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import { policyNotes, sharesLine, sloNote } from '../../src/config/policy-notes.js';

const notesOf = (
  kind: string,
  asked: {
    classes?: boolean;
    lengths?: boolean;
    kinds?: number;
    tenants?: number;
  },
) =>
  policyNotes({
    policy: { kind, options: {} },
    kinds: asked.kinds ?? 1,
    hasClasses: asked.classes ?? false,
    hasLengths: asked.lengths ?? false,
    tenants: asked.tenants ?? 0,
  }).map(({ kind, text }) => `${kind} ${text.slice(0, 24)}`);

it('says of a policy only what was asked for and it does not do', () => {
  expect(notesOf('fifo', {})).toEqual([]);
  expect(notesOf('fifo', { classes: true, lengths: true, kinds: 2 })).toEqual([
    'warning weights are ignored; res',
    'note inputs of any length sha',
    'note on several kinds of GPUs',
  ]);
  expect(notesOf('escapement', { classes: true, kinds: 2 })).toEqual([]);
  expect(notesOf('escapement', { classes: true, lengths: true })).toEqual([]);
});

it('says of two tenants or more that their shares do not come first', () => {
  expect(notesOf('edf', { tenants: 2 })).toEqual(['warning requests within a share ']);
  expect(notesOf('edf', { tenants: 1 })).toEqual([]);
  expect(notesOf('escapement', { tenants: 2 })).toEqual([]);
});

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

it('says what shares come to, and relative to each other', () => {
  const tenants = [
    { name: 'others', share: 1 },
    { name: 'big', share: 0.5 },
    { name: 'small', share: 0.25 },
  ];
  expect(sharesLine(tenants)).toBe(
    'tenants: others 57.1 %, big 28.6 %, small 14.3 % of what GPUs can do under overload',
  );
});

it('says nothing of one tenant, and does not list very many', () => {
  expect(sharesLine([{ name: 'one', share: 1 }])).toBeNull();
  const many = Array.from({ length: 100 }, (_, i) => ({ name: `t${i}`, share: 1 }));
  expect(sharesLine(many)).toMatch(/^tenants: t0 1 %, .*, t11 1 %, and 88 more of what/);
});
