import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkRun } from '../../src/audit/check-run.js';
import { parseExperiment } from '../../src/config/load.js';
import { runResultSchema } from '../../src/record/schema.js';
import { live } from '../../src/run/live.js';
import { run } from '../../src/run/run.js';
import { simulate } from '../../src/run/simulated.js';
import { tempDir } from '../cli/run-cli.js';
import { expectReplay } from '../serve/fixtures.js';

// With an SLO that requests meet however busy this machine is.
const EXPERIMENT = `name: live
seed: 3
cluster: { gpus: 2, pages: 60 }
models: { kind: fit, name: model, parameters: 10M, copies: 4 }
workload: { kind: poisson, rate: 200/s, duration: 800ms }
slo: 1m
output: { requestLog: true, actionLog: true, timeline: [0s, 1s] }
`;

const POLICIES = [
  ['clockwork', 'policy={kind: clockwork, scheduleAhead: 10ms, latestDelta: 20s}'],
  ['fifo', 'policy={kind: fifo, maxDelay: 2ms}'],
] as const;

const rowsOf = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n').slice(1);

/** INFERs that ran, from the log of actions of a run. */
function infersOf(path: string): { gpu: number; batch: number; tookNs: number }[] {
  const [head, ...rows] = readFileSync(path, 'utf8').trimEnd().split('\n');
  const columns = head!.split('\t');
  const read = (cells: readonly string[], column: string) => Number(cells[columns.indexOf(column)]);
  return rows
    .map((row) => row.split('\t'))
    .filter((cells) => read(cells, 'action_type') === 2 && read(cells, 'status') === 0)
    .map((cells) => ({
      gpu: read(cells, 'worker_id') + read(cells, 'gpu_id'),
      batch: read(cells, 'batch_size'),
      tookNs: read(cells, 'worker_exec_complete') - read(cells, 'worker_exec_begin'),
    }));
}

it.each(POLICIES)('runs an experiment under %s in real time', async (kind, policy) => {
  const experiment = await parseExperiment(EXPERIMENT, 'live.yaml', [policy]);
  const outDir = join(tempDir(), 'out');
  mkdirSync(outDir);
  const journal = join(outDir, 'run.journal');
  const fractions: number[] = [];
  const { result, live: report } = await run(experiment, live(journal), {
    outDir,
    onProgress: (fraction) => {
      fractions.push(fraction);
    },
  });
  expect(runResultSchema.parse(result)).toEqual(result);
  const { summary } = result;
  expect(summary).toMatchObject({ name: 'live', seed: 3, policy: kind });
  const { offered, ok, late, timeout, rejected, error } = summary.requests;
  // The same requests as in simulation, each with an outcome.
  const simulated = await simulate(await parseExperiment(EXPERIMENT, 'live.yaml', [policy]));
  expect(offered).toBe(simulated.summary.requests.offered);
  expect(ok + late + timeout + rejected + error).toBe(offered);
  expect(ok).toBeGreaterThan(0);
  expect(error).toBe(0);
  const unanswered = { neverSent: 0, lost: 0, givenUp: 0 };
  expect(report?.played).toMatchObject({ requests: offered, refused: 0, unanswered });
  expect(report?.deviceErrors).toEqual([]);
  expect(report?.wakeLateness.min).toBeGreaterThanOrEqual(0);
  expect(fractions.at(-1)).toBeGreaterThan(0);

  expect(rowsOf(join(outDir, 'requests.tsv'))).toHaveLength(offered);
  const { load, infer } = summary.actions;
  expect(rowsOf(join(outDir, 'actions.tsv')).length).toBeGreaterThanOrEqual(load + infer);
  expect(infer).toBeGreaterThan(0);
  expect(JSON.parse(readFileSync(join(outDir, 'timeline.json'), 'utf8')).traceEvents.length).toBeGreaterThan(
    0,
  );
  await expectReplay(journal, offered, summary.digest);
});

it('leaves no logs of a run that failed', async () => {
  const experiment = await parseExperiment(EXPERIMENT, 'live.yaml');
  const outDir = tempDir();
  await expect(run(experiment, live('/dev/null/run.journal'), { outDir })).rejects.toMatchObject({
    code: 'E_FILE_WRITE',
  });
  // Neither a log nor an unfinished one under another name.
  expect(readdirSync(outDir)).toEqual([]);
});

it('claims as busy only what the log says that ran, also where windows are missed', async () => {
  const experiment = await parseExperiment(EXPERIMENT, 'live.yaml', [
    'policy={kind: clockwork, scheduleAhead: 2ms}',
    'cluster.gpus=1',
    'workload.rate=500/s',
  ]);
  const outDir = join(tempDir(), 'out');
  mkdirSync(outDir);
  // Actions wait in the worker while this thread is busy, and miss their windows.
  const busy = setInterval(() => {
    for (const from = performance.now(); performance.now() - from < 15; );
  }, 40);
  const { result } = await run(experiment, live(), { outDir }).finally(() => clearInterval(busy));
  expect(result.summary.actions.tooLate).toBeGreaterThan(0);
  expect(result.summary.generator).toMatchObject({ waitedForConnection: 0, notSent: 0 });
  writeFileSync(join(outDir, 'run.json'), JSON.stringify(result));
  const { claims, kind } = checkRun(outDir, { slackNs: 0 });
  expect(kind).toBe('live');
  expect(claims.filter(({ ok }) => !ok)).toEqual([]);
});

const MIXED = [
  'cluster={ gpus: [{ kind: fast, count: 1, pages: 60, price: 2/h }, { kind: slow, count: 2, pages: 30, price: 0.5/h, speed: 0.25 }] }',
  'workload={ kind: poisson, rate: 300/s, duration: 2s }',
  'policy.kind=escapement',
];

it('runs GPUs of several kinds, each with times of its own', async () => {
  const experiment = await parseExperiment(EXPERIMENT, 'live.yaml', MIXED);
  const outDir = join(tempDir(), 'out');
  mkdirSync(outDir);
  const journal = join(outDir, 'run.journal');
  const { result } = await run(experiment, live(journal), { outDir });
  const { summary: simulated } = await simulate(await parseExperiment(EXPERIMENT, 'live.yaml', MIXED));
  const { by, cost, requests } = result.summary;
  const { kind: kinds = [] } = by;
  expect(requests.offered).toBe(simulated.requests.offered);
  expect(kinds.map(({ key, gpus }) => [key, gpus])).toEqual([
    ['fast', 1],
    ['slow', 2],
  ]);
  expect(cost?.perHour).toBe(3);
  expect(kinds.every(({ infer }) => infer > 0)).toBe(true);
  // How much each serves depends on how busy this machine is, but no INFER is ever faster than its kind of GPU.
  const [model] = experiment.models;
  const times = [model!, model!.otherKinds![0]!].map(({ execNs }) => execNs);
  const infers = infersOf(join(outDir, 'actions.tsv')).map(({ gpu, batch, tookNs }) => {
    const [fastNs, slowNs] = times.map((execNs) => execNs[model!.batchSizes.indexOf(batch)]!) as [
      number,
      number,
    ];
    return { isFast: gpu === 0, tookNs, fastNs, slowNs };
  });
  for (const { isFast, tookNs, fastNs, slowNs } of infers) {
    expect(tookNs).toBeGreaterThanOrEqual(isFast ? fastNs : slowNs);
  }
  // And the fast one is, at least once, faster than a slow one can be.
  expect(infers.some(({ isFast, tookNs, slowNs }) => isFast && tookNs < slowNs)).toBe(true);
  expect(kinds.reduce((sum, each) => sum + each.requests.ok, 0)).toBe(requests.ok);
  expect(simulated.by.kind?.map(({ key }) => key)).toEqual(['fast', 'slow']);
  await expectReplay(journal, requests.offered, result.summary.digest);
  writeFileSync(join(outDir, 'run.json'), JSON.stringify(result));
  const { claims } = checkRun(outDir, { slackNs: 0 });
  expect(claims.filter(({ ok }) => !ok)).toEqual([]);
});
