import { expect, test } from 'vitest';
import { parseExperiment } from '../../../src/config/load.js';
import { judge, parseTarget } from '../../../src/run/plan/judge.js';
import { planNotes, searchNotes, setupNotes, trafficNotes } from '../../../src/run/plan/notes.js';
import { latticeOf, parseOver } from '../../../src/run/plan/over.js';
import { SMALL_EXPERIMENT } from '../../cli/run-cli.js';
import { cellResult } from '../sweep/fixtures.js';

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

test.each([
  [['executedP99<50ms'], 0.59, ['met, but 41 % of the requests were not answered in time; ']],
  [['goodputRps>1'], 0.9893, ['met, but 1.1 % of the requests were not answered in time; ']],
  [['goodputRps>1'], 0.995, []],
  [['p50<50ms'], 0.6, ['met, but 40 % of the requests were not answered in time; ']],
  // These say themselves how many may fail.
  [['goodputRps>1', 'attainment>=0.5'], 0.59, []],
  [['executedP99<50ms', 'p90<50ms'], 0.92, []],
])('%j met with %d answered in time: %j', (texts, attainment, starts) => {
  const targets = texts.map(parseTarget);
  const figures = targets.map((target) => judge(target, [cellResult(50)]));
  const tried = ['10/s', '20/s'].map((value) => ({
    ...{ ...named(value), meets: 'yes' as const, figures, attainment, cells: [] },
  }));
  const notes = planNotes({ targets, tried, seeds: [1, 2] }, tried[0], [], []);
  expect(notes).toEqual(starts.map((start) => expect.stringContaining(start)));
});

test('names the rates of tenants where they refuse 1 % of the requests or more', () => {
  const target = parseTarget('attainment>=90%');
  const figures = [judge(target, [cellResult(88), cellResult(93)])];
  const notes = (one: object, answered: boolean) => {
    const tried = [
      { ...named('1'), meets: 'unsure' as const, figures, attainment: 0.904, cells: [], ...one },
    ];
    return planNotes({ targets: [target], tried, seeds: [1, 2] }, answered ? tried[0] : undefined, [], []);
  };
  const note = 'the rates of tenants refuse 9.6 % of the requests, whatever the GPUs';
  expect(notes({ overRate: 0.096 }, false)).toEqual([note]);
  expect(notes({ overRate: 0.096 }, true)).toEqual([note]);
  expect(notes({ overRate: 0.009 }, false)).toEqual([]);
  expect(notes({ overRate: 0.5, unreachable: 'too few' }, false)).toEqual(['too few']);
});

test('without an answer, the nearest of the values that more seeds may settle is named', () => {
  const target = parseTarget('goodputRps>=100');
  const seeds = (...goodputs: number[]) =>
    judge(
      target,
      goodputs.map((goodputRps) => cellResult(goodputRps)),
    );
  const notes = (figures: ReturnType<typeof judge>[]) => {
    const tried = figures.map((figure, i) => ({
      ...{ ...named(`${i + 1}`), meets: figure.meets, figures: [figure], attainment: 1, cells: [] },
    }));
    const over = parseOver(`cluster.gpus=1:${figures.length}`);
    return searchNotes({ kind: 'none' }, latticeOf(over, true), { over, targets: [target], tried });
  };
  // The last misses by less than the interval of the one before, and will not meet however many seeds run.
  const [narrow, wide, missed] = [seeds(99, 103), seeds(80, 130), seeds(99.8, 99.9)];
  expect([narrow, wide, missed].map(({ meets }) => meets)).toEqual(['unsure', 'unsure', 'no']);
  expect(notes([wide, narrow, missed])).toEqual([
    'the mean at 2 GPUs meets, its interval does not: more seeds may settle it',
  ]);
  expect(notes([missed, missed])).toEqual([]);
});

/** A tried number of GPUs. */
function named(value: string) {
  return { value, name: `${value} GPUs`, settings: [`cluster.gpus=${value}`] };
}

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

test.each([
  [
    'kind: poisson, rate: 1/s, duration: 5s',
    '250ms',
    /SLO of 250ms before .* 5s of traffic .* up to 5 % .* 25s at most 1 %$/,
  ],
  [
    'kind: poisson, rate: 1/s, duration: 1m, slo: 1200ms',
    '10ms',
    /SLO of 1.2s before .* 1m of traffic .* 2 % .* 2m at most 1 %$/,
  ],
  ['kind: poisson, rate: 1/s, duration: 25s', '250ms', null],
  // Its clients wait for answers, so no queue grows.
  ['kind: closed-loop, clients: 1, duration: 1s', '250ms', null],
])('a growing queue can go unnoticed in a short run: %s', async (workload, slo, note) => {
  const text = `models: { kind: zoo, varieties: 1 }\nworkload: { ${workload} }\nslo: ${slo}\n`;
  const end = await parseExperiment(text, 'short.yaml', []);
  const answer = { ...named('1'), meets: 'yes', figures: [], attainment: null, cells: [] } as const;
  const notes = planNotes({ targets: [], tried: [], seeds: [1, 2] }, answer, [], [end]);
  expect(notes.filter((one) => one.includes('a queue can grow'))).toEqual(
    note === null ? [] : [expect.stringMatching(note)],
  );
});
