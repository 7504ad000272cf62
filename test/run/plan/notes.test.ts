import { expect, test } from 'vitest';
import { parseExperiment } from '../../../src/config/load.js';
import type { Verdict } from '../../../src/run/plan/judge.js';
import { searchNotes, trafficNotes, unsureNote } from '../../../src/run/plan/key-space.js';
import { parseOver } from '../../../src/run/plan/over.js';
import { setupNotes } from '../../../src/run/plan/plan.js';
import type { Tried } from '../../../src/run/plan/plan-result.js';
import { SMALL_EXPERIMENT } from '../../cli/run-cli.js';

test.each([
  [
    'cluster.gpus=1:4',
    'workload.load=50%',
    [/^load is a share of what the GPUs can serve, .* depends on GPUs: /],
  ],
  ['cluster.gpus=1:4', 'workload.rate=100/s', []],
  ['cluster.pages=64:128', 'workload.load=50%', []],
  ['workload.rate=100/s:200/s', 'name=any', []],
])('a load that follows the planned key %s with %s is pointed out', async (text, override, notes) => {
  const over = parseOver(text);
  const experiment = override.startsWith('workload.load')
    ? SMALL_EXPERIMENT.replace(/rate: [^,]+,/, '')
    : SMALL_EXPERIMENT;
  const ends = await Promise.all(
    [over.from, over.to].map((value) =>
      parseExperiment(experiment, 'small.yaml', [override, `${over.key}=${value}`]),
    ),
  );
  expect(trafficNotes(over.key, ends)).toEqual(notes.map((note) => expect.stringMatching(note)));
});

const tried: Tried = {
  ...{ value: '5', name: '5 GPUs', settings: [], cells: [] },
  ...{ meets: 'unsure', figures: [], attainment: 1 },
};

test('an end of the range that is only unsure is not said to miss', () => {
  const found = { kind: 'boundary', answer: 1, before: 2, inside: true, contradictions: [] } as const;
  const notes = (...meets: Verdict[]) =>
    searchNotes(found, new Map(meets.map((one, i) => [i, { ...tried, meets: one }])), { targets: [] });
  expect(notes('no', 'yes', 'no')).toEqual([
    'both ends of the range miss: the target holds only inside the range',
  ]);
  expect(notes('unsure', 'yes', 'no')).toEqual([
    'not sure at 5 GPUs: the target holds only inside the range',
  ]);
});

test('more seeds may settle what is not sure, but not of a log', () => {
  const note = 'the mean at 5 GPUs meets, its interval does not';
  expect(unsureNote(tried)).toBe(`${note}: more seeds may settle it`);
  expect(unsureNote({ ...tried, isReplay: true })).toBe(note);
});

test('says what the policy does not do, and what shares come to, as far as both ends agree', async () => {
  const end = (share: number, policy: string) =>
    parseExperiment(
      `models: { kind: zoo, varieties: 1 }
tenants: { list: [{ name: others }, { name: big, share: ${share} }] }
workload: { kind: poisson, rate: 1/s, duration: 1s }
policy: { kind: ${policy} }
`,
      'tenants.yaml',
    );
  const shares = 'tenants: others 50 %, big 50 % of what GPUs can do under overload';
  expect(setupNotes([await end(1, 'edf'), await end(1, 'edf')])).toEqual([
    expect.stringContaining('policy edf: requests within a share do not come first'),
    shares,
  ]);
  expect(setupNotes([await end(1, 'escapement'), await end(1, 'edf')])).toEqual([shares]);
  expect(setupNotes([await end(1, 'escapement'), await end(3, 'escapement')])).toEqual([]);
});
