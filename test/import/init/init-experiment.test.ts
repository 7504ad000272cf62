import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DISK_FILES } from '../../../src/base/files/disk-files.js';
import { loadExperiment } from '../../../src/config/load.js';
import { type InitOptions, initExperiment } from '../../../src/import/init/init-experiment.js';
import { importProfiles } from '../../../src/import/profiles/import-profiles.js';
import { importTrace } from '../../../src/import/trace/import-trace.js';
import { assumedOf } from '../../../src/run/plan/what-ifs.js';
import { simulate } from '../../../src/run/simulated.js';
import { madeUpProfile } from '../../made-up-profile.js';
import { failure, scratch } from '../../workload/support.js';

const { folder, file } = scratch();

function profile(name: string, gpu: string, firstMs: number): string {
  const batches = [1, 4].map((batch) => ({ batch, medianMs: firstMs * batch * 0.6 + firstMs * 0.4 }));
  const known = madeUpProfile({ name, gpu, weightsBytes: 1e8, loadMs: 8, batches });
  return file(`${name}.${gpu.replaceAll(' ', '-')}.json`, JSON.stringify(known));
}

function trace(name: string, ...rows: (readonly [ms: number, model: string, sloMs?: number])[]): string {
  const lines = rows.map(([ms, model, sloMs = 100]) => `${ms * 1e6},${model},${sloMs * 1e6}\n`);
  return file(name, `arrival_ns,model_id,slo_ns\n${lines.join('')}`);
}

const out = join(folder, 'experiment.yaml');
const init = (paths: string[], options: Partial<InitOptions> = {}) =>
  initExperiment(DISK_FILES, paths, { out, slo: undefined, map: new Map(), ...options });

/** Experiment of a text, as every command reads it. */
async function loaded(text: string) {
  writeFileSync(out, text);
  return loadExperiment(out, []);
}

it('takes the models that a trace calls, on the kinds of GPUs that were measured', async () => {
  const profiles = [
    ...[profile('bert', 'Tesla T4', 11), profile('resnet', 'Tesla T4', 4), profile('resnet', 'A10', 2)],
    profile('unused', 'A10', 1),
  ];
  const { text, notes, traces } = await init([
    ...profiles,
    trace('a.csv', [0, 'ResNet'], [1, 'bert'], [2000, 'bert']),
  ]);
  expect(traces).toEqual([join(folder, 'a.csv')]);
  expect(notes).toEqual([
    'ResNet: taken to be as fast as resnet',
    'profiles of models that no request calls are left out: unused',
  ]);
  const { cluster, models } = await loaded(text);
  expect(cluster.kinds.map(({ name }) => name)).toEqual(['tesla-t4', 'a10']);
  expect((await loaded(text)).warnings).toEqual([]);
  const { warnings } = await loaded(text.replaceAll('a10', 'l4'));
  expect(warnings).toEqual(['durations measured on A10 are taken for l4']);
  // As fast as resnet was: bert was not measured there.
  expect(text).toContain('{ kind: a10, count: 1, memory: 16GiB, speed: 2 } # price: ?/h');
  expect(models.map(({ name }) => name)).toEqual(['bert', 'ResNet']);
  expect(models[0]!.otherKinds![0]!.execNs[0]).toBe(5.5e6);
  const { summary } = await simulate(await loaded(text));
  expect(summary.requests.offered).toBe(3);
});

it('sets five times the latency of batch 1 of the slowest model for an SLO, unless it knows a better one', async () => {
  const profiles = [profile('slow', 'gpu', 11), profile('fast', 'gpu', 1)];
  const one = trace('one.csv', [0, 'slow'], [1, 'fast']);
  const several = trace('several.csv', [0, 'slow', 30], [1, 'fast', 20]);
  expect((await init([...profiles, one])).text).toContain('slo: 55ms');
  expect((await init([...profiles, one])).text).toContain('that of the trace (100 ms)');
  expect((await init([...profiles, one], { slo: '70ms' })).text).toContain('slo: 70ms');
  expect((await init([...profiles, several])).text).not.toMatch(/^ *slo:/m);
});

it('reads folders, and takes all profiles for a trace of functions', async () => {
  const apart = join(folder, 'apart');
  mkdirSync(apart);
  renameSync(profile('inside', 'gpu', 2), join(apart, 'inside.json'));
  renameSync(trace('inside.csv', [0, 'inside']), join(apart, 'trace.csv'));
  expect((await init([apart])).text).toContain('path: apart/inside.json');
  const counts = file('azure.csv', 'HashOwner,HashApp,HashFunction,Trigger,1,2\no,a,f,http,3,4\n');
  const all = await init([profile('m', 'gpu', 2), counts]);
  expect(all.text).toContain('kind: azure-2019');
  expect((await loaded(all.text)).models.map(({ name }) => name)).toEqual(['m']);
});

it('hands the guesses of imports to the page of a plan', async () => {
  const measured = file(
    'measured.csv',
    'model,gpu,batch,latency_ms\nbert,t4,2,8\nbert,t4,4,14\nyolo,t4,1,3\n',
  );
  const log = file('log.csv', 'time,model\n2026-10-12T06:00:01,bert\n2026-10-12T06:00:02,yolo\nnever,yolo\n');
  const options = { where: [], spread: 1.2 } as never;
  await importProfiles(DISK_FILES, [measured], join(folder, 'made'), options);
  const arrivals = join(folder, 'made', 'log.csv.gz');
  await importTrace(DISK_FILES, [log], arrivals, { maxBad: 0.5, seed: 3 });
  const assumed = assumedOf(await loaded((await init([join(folder, 'made')])).text));
  // Each kind of GPU has a memory of its own.
  expect(assumed.map(([about]) => about)).not.toContain('cluster.memory');
  const guesses = assumed.flatMap(([about, text]) => (about === 'guess' ? text : []));
  expect(guesses).toEqual([
    'the SLO is 5 times the latency of batch 1 of the slowest model',
    'all models: percentiles are not known: the p99 is taken as 1.2 times the median (--spread)',
    'bert: batch 1 was not measured, and is extrapolated',
    'all models: the weights are not known, and estimated from the latency of batch 1, as fit does',
    'all models: the time of a LOAD is not known, and estimated as the weights at 12.2 GB/s',
    expect.stringContaining('all models: input or output bytes are not known'),
    'log.csv.gz: times are whole seconds: each request was moved to a random time within its second (seed 3)',
    'log.csv.gz: times without a zone were read as UTC',
    'log.csv.gz: left out: 1 of 3 lines: no valid time in field time: "never"',
  ]);
});

it('says that lengths are ignored where profiles have one table', async () => {
  const rows = file('lengths.csv', 'arrival_ns,model_id,slo_ns,length\n0,bert,1000,40\n1,resnet,1000,9\n');
  const bert = profile('bert', 'A10', 2);
  const ignored = /resnet: the lengths of requests in the trace are ignored/;
  const plain = await init([bert, profile('resnet', 'A10', 1), rows]);
  expect(plain.text).toContain('all models: the lengths of requests in the trace are ignored');
  writeFileSync(bert, JSON.stringify({ ...JSON.parse(readFileSync(bert, 'utf8')), length: 64 }));
  expect((await init([bert, join(folder, 'resnet.A10.json'), rows])).text).toMatch(ignored);
  const without = trace('without-lengths.csv', [0, 'resnet']);
  expect((await init([join(folder, 'resnet.A10.json'), without])).text).not.toContain('lengths of requests');
});

it('takes neither of two profiles that a name could mean, and no two of one model on one kind', async () => {
  const paths = [profile('Net-1', 'gpu', 2), profile('net_1', 'gpu', 3)];
  expect((await failure(() => init([...paths, trace('n.csv', [0, 'net1'])]))).message).toContain(
    'net1 (100.0 % of the requests) has no profile',
  );
  const copy = file('copy.json', readFileSync(paths[0]!, 'utf8'));
  expect((await failure(() => init([paths[0]!, copy, trace('n2.csv', [0, 'Net-1'])]))).message).toBe(
    `Net-1 has two profiles on gpu: ${paths[0]} and ${copy}: leave one out`,
  );
});

it('refuses what makes no experiment, and says what to do', async () => {
  const path = profile('net', 'gpu', 2);
  const cases: [string[], string][] = [
    [[path], 'there is no trace: give files of escapement import trace'],
    [
      [trace('only.csv', [0, 'net'])],
      'there is no profile: give files or folders of escapement import profiles',
    ],
    [
      [path, trace('other.csv', [0, 'net'], [1, 'x'], [2, 'y'], [3, 'net'])],
      'x, y (50.0 % of the requests) have no profile, of which there are net: name the profile to take with ' +
        '--map x=PROFILE, or leave these requests out of the trace',
    ],
    [
      [profile('p', 'a', 1), profile('q', 'b', 1), trace('both.csv', [0, 'p'], [1, 'q'])],
      'no kind of GPU has profiles of all models: a (not q); b (not p): measure what is missing on one of them',
    ],
  ];
  for (const [paths, message] of cases) {
    const order = await failure(() => init(paths));
    expect(order).toEqual({ code: 'E_USAGE', message });
  }
});
