import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Papa from 'papaparse';
import { expect, test } from 'vitest';
import { sweepResultsSchema } from '../../../src/record/schema.js';
import { runCli, runOk, SMALL_EXPERIMENT, spawnCli, tempDir, words, writeIn } from '../run-cli.js';

/** A thread takes longer to start than these simulations to run. */
const ONE_THREAD = ['--threads', '1'];
const VARY = ['--vary', 'slo=10ms,25ms', '--vary', 'policy.scheduleAhead=2ms:10ms:4ms', '--seeds', '1,2'];

test('writes results, charts and a report, and ends with a summary and the path', async () => {
  const dir = tempDir();
  const out = join(dir, 'out');
  const { status, stdout, stderr } = await runCli(
    words`sweep ${small(dir)} ${ONE_THREAD} ${VARY} --out ${out}`,
  );
  expect(status).toBe(0);
  const results = sweepResultsSchema.parse(JSON.parse(readFileSync(join(out, 'results.json'), 'utf8')));
  expect(results.cells).toHaveLength(12);
  expect(results.defaults).toEqual({ slo: '25ms', 'policy.scheduleAhead': '5ms' });
  const { data } = Papa.parse<Record<string, string>>(readFileSync(join(out, 'results.csv'), 'utf8').trim(), {
    header: true,
  });
  expect(data).toHaveLength(12);
  expect(data[0]).toMatchObject({ slo: '10ms', 'policy.scheduleAhead': '2ms', seed: '1', status: 'done' });
  expect(stderr).toMatch(/^seed 1, 2: 12 cells/);
  const report = /^report: (.*)$/m.exec(stdout)?.[1];
  expect(existsSync(report ?? '')).toBe(true);
  expect(readFileSync(report!, 'utf8')).toContain('<html');
});

/** The small experiment as a replayed log: bursts that one GPU cannot take. */
function replay(dir: string): string {
  const rows = Array.from(
    { length: 900 },
    (_, i) => `${(i % 7 === 0 ? 3 : 2) * i * 1_000_000},${i % 15},25000000`,
  );
  const bursts = rows.map((row, i) => (i % 100 < 40 ? row : row.replace(/^\d+/, String(i * 2_000_000 + 1))));
  const byTime = (a: string, b: string) => Number.parseInt(a, 10) - Number.parseInt(b, 10);
  writeIn(dir, 'log.csv', `arrival_ns,model_id,slo_ns\n${bursts.sort(byTime).join('\n')}\n`);
  return writeIn(
    dir,
    'replay.yaml',
    SMALL_EXPERIMENT.replace(/^workload:.*$/m, 'workload: { kind: arrivals, path: log.csv }'),
  );
}

test('a replayed log runs once, is called one sample, and gets no advice on seeds', async () => {
  const dir = tempDir();
  const out = join(dir, 'out');
  const flags = ['--vary', 'policy.scheduleAhead=2ms,10ms', '--seeds', '1,2', ...ONE_THREAD, '--out', out];
  const { stdout, stderr } = await runCli(['sweep', replay(dir), ...flags]);
  expect(stderr).toMatch(/^seed 1: 2 cells/);
  expect(stdout).toMatch(/^one sample: no seed changes it; ±: 95 % confidence over its time slices$/m);
  expect(stdout).not.toMatch(/seeds? 1/);
  expect(readFileSync(join(out, 'results.csv'), 'utf8')).toMatch(/,one_sample,[\s\S]*,yes,/);
  const results = sweepResultsSchema.parse(JSON.parse(readFileSync(join(out, 'results.json'), 'utf8')));
  expect(results.cells.map(({ seed }) => seed)).toEqual([1, 1]);
  const page = readFileSync(join(out, 'report.html'), 'utf8');
  expect(page).toContain('one sample: no seed changes it');
  expect(page).toMatch(/\d ± [\d.]+</);
  expect(page).not.toContain('1 seed');
});

test('results are the same bytes with one thread, with two, and after an interruption', async () => {
  const dir = tempDir();
  const sweep = (out: string, ...flags: string[]) =>
    words`sweep ${small(dir)} ${VARY} --out ${join(dir, out)} ${flags}`;
  await runOk(sweep('one', '--threads', '1'));
  await runOk(sweep('two', '--threads', '2'));
  const stopped = await spawnCli(sweep('stopped', '--threads', '1'), {
    interruptWhen: (stderr) => /sweep \d+%/.test(stderr),
  });
  expect(stopped.status).toBe(130);
  expect(stopped.stderr).toMatch(/interrupted: \d+ of 12 cells are kept/);
  expect(existsSync(join(dir, 'stopped', 'results.json'))).toBe(false);
  const kept = readdirSync(join(dir, 'stopped', 'cells'));
  expect(kept.length).toBeGreaterThan(0);
  const resumed = await runCli(sweep('stopped', '--threads', '2'));
  expect(resumed.stderr).toContain(`${kept.length} finished cells were reused`);
  for (const name of ['results.json', 'results.csv']) {
    const bytes = readFileSync(join(dir, 'one', name));
    expect(readFileSync(join(dir, 'two', name)).equals(bytes)).toBe(true);
    expect(readFileSync(join(dir, 'stopped', name)).equals(bytes)).toBe(true);
  }
});

test('finished cells are used again only while the experiment says the same', async () => {
  const dir = tempDir();
  const file = small(dir);
  const args = ['sweep', file, ...ONE_THREAD, '--seeds', '1,2', '--out', join(dir, 'out')];
  await runOk(args);
  expect((await runCli(args)).stderr).toContain('2 finished cells were reused');
  writeFileSync(file, `# Another comment is no other experiment.\n${SMALL_EXPERIMENT}`);
  expect((await runCli(args)).stderr).toContain('2 finished cells were reused');
  writeFileSync(file, SMALL_EXPERIMENT.replace('400/s', '401/s'));
  expect((await runCli(args)).stderr).not.toContain('finished cells were reused');
  expect((await runCli([...args, '--fresh'])).stderr).not.toContain('finished cells were reused');
});

test("without flags the file's sweep section decides", async () => {
  const dir = tempDir();
  const file = writeIn(
    dir,
    'own.yaml',
    `${SMALL_EXPERIMENT}sweep: { vary: { slo: '10ms,50ms' }, seeds: [3, 4] }\n`,
  );
  await runOk(['sweep', file, ...ONE_THREAD, '--out', join(dir, 'out')]);
  const { vary, seeds } = JSON.parse(readFileSync(join(dir, 'out', 'results.json'), 'utf8'));
  expect({ vary, seeds }).toEqual({ vary: [{ key: 'slo', values: ['10ms', '50ms'] }], seeds: [3, 4] });
});

test('named cases are an axis like others, and bounds are the same bytes whatever the threads', async () => {
  const dir = tempDir();
  const sweep = `sweep:
  cases:
    setting:
      one GPU: {}
      two GPUs: { cluster.gpus: 2, workload: { kind: gamma, cv: 3, load: 120%, duration: 1s } }
  vary: { policy.kind: [clockwork, fifo], slo: [10ms, 25ms] }
  bound: true
`;
  const file = writeIn(dir, 'cases.yaml', SMALL_EXPERIMENT + sweep);
  const run = (out: string, ...flags: string[]) => runCli(['sweep', file, '--out', join(dir, out), ...flags]);
  expect((await run('one', '--threads', '1')).status).toBe(0);
  await run('two', '--threads', '2');
  for (const name of ['results.json', 'results.csv'])
    expect(readFileSync(join(dir, 'two', name)).equals(readFileSync(join(dir, 'one', name)))).toBe(true);
  const read = (out: string) =>
    sweepResultsSchema.parse(JSON.parse(readFileSync(join(dir, out, 'results.json'), 'utf8')));
  const { vary, cells } = read('one');
  expect(vary[0]).toEqual({ key: 'setting', values: ['one GPU', 'two GPUs'] });
  expect(cells[4]?.values).toEqual({ setting: 'two GPUs', 'policy.kind': 'clockwork', slo: '10ms' });
  const done = cells.flatMap((cell) => (cell.status === 'done' ? [cell.result] : []));
  expect(done).toHaveLength(8);
  for (const { bound, summary } of done) {
    expect(bound?.offeredRps).toBe(summary.offeredRps);
    expect(summary.goodputRps).toBeLessThanOrEqual(bound?.bestRps ?? 0);
  }
  await run('picked', ...ONE_THREAD, '--vary', 'setting=two GPUs', '--vary', 'slo=10ms');
  expect(read('picked').vary).toEqual([
    { key: 'setting', values: ['two GPUs'] },
    { key: 'slo', values: ['10ms'] },
  ]);
});

test('a cell that cannot run is reported, and loses no other', async () => {
  const dir = tempDir();
  const out = join(dir, 'out');
  const { status, stdout, stderr } = await runCli(
    words`sweep ${small(dir)} ${ONE_THREAD} --vary cluster.pages=2,200 --out ${out}`,
  );
  expect(status).toBe(4);
  expect(stdout).toMatch(/^cache pages 2 +1 +E_MODEL_TOO_LARGE /m);
  expect(stderr).toMatch(/E_CELLS_FAILED: 1 of 2 cells failed/);
  expect(stdout).toContain('report: ');
  const { cells } = JSON.parse(readFileSync(join(out, 'results.json'), 'utf8'));
  expect(cells.map(({ status }: { status: string }) => status)).toEqual(['failed', 'done']);
});

test('compares policies on a file with options of one of them, and leaves no earlier chart behind', async () => {
  const dir = tempDir();
  const out = join(dir, 'out');
  await runOk(['sweep', small(dir), ...ONE_THREAD, ...VARY, '--out', out]);
  writeFileSync(join(out, 'charts', 'earlier.png'), '');
  const compare = ['--vary', 'policy.kind=clockwork,fifo', '--seeds', '1,2', '--out', out];
  const { status } = await runCli(['sweep', small(dir), ...ONE_THREAD, ...compare]);
  expect(status).toBe(0);
  const { cells } = sweepResultsSchema.parse(JSON.parse(readFileSync(join(out, 'results.json'), 'utf8')));
  const done = cells.flatMap((cell) => (cell.status === 'done' ? [cell.result] : []));
  const policies = done.map(({ summary }) => summary.policy);
  expect(policies).toEqual(['clockwork', 'clockwork', 'fifo', 'fifo']);
  // One timeline a combination, no longer than its chart: the bulk of a sweep stays small.
  expect(done.map(({ timeline }) => timeline.length > 0)).toEqual([true, false, true, false]);
  expect(Math.max(...done.map(({ timeline }) => timeline.length))).toBeLessThan(50);
  expect(readdirSync(join(out, 'charts'))).not.toContain('earlier.png');
});

test.each([
  ['slo', 2, /write key=values/],
  ['slo=10ms,banana', 12, /--vary slo=banana/],
  ['slo=10ms,20', 13, /--vary slo=20: .*no unit/],
  ['policy.scheduleAhaed=1ms,2ms', 11, /did you mean "scheduleAhead"/],
  ['slo=20ms:10ms:1ms', 2, /--vary slo: .*not a range/],
  ['seed=1,2', 2, /--seeds/],
])('--vary %s fails before anything runs', async (vary, exit, message) => {
  const dir = tempDir();
  const out = join(dir, 'out');
  const { status, stderr } = await runCli(['sweep', small(dir), ...ONE_THREAD, '--vary', vary, '--out', out]);
  expect(stderr).toMatch(message);
  expect(status).toBe(exit);
  expect(existsSync(out)).toBe(false);
});

function small(dir: string): string {
  return writeIn(dir, 'small.yaml', SMALL_EXPERIMENT);
}

test('thresholds are checked for every cell, of any percentile, and cells that were kept count', async () => {
  const dir = tempDir();
  const junit = join(dir, 'junit.xml');
  const sweep = (...thresholds: string[]) => [
    ...words`sweep ${small(dir)} ${ONE_THREAD} --vary workload.rate=100/s,3000/s --seeds 1,2 --quiet --junit ${junit}`,
    ...['--out', join(dir, 'out'), ...thresholds.flatMap((threshold) => ['--threshold', threshold])],
  ];
  const missed = await runCli(sweep('p92.5<1h', 'executedP92.5<1h'));
  expect(missed.status).toBe(3);
  expect(missed.stdout).toMatch(
    /^✗ p92\.5<1h: missed in 2 of 4 runs\n✗ p92\.5<1h: never: .* with workload\.rate=3000\/s seed=1\n✗ .* seed=2\n✓ executedP92\.5<1h: in all 4 runs\n/m,
  );
  expect(missed.stderr).toBe('escapement: E_THRESHOLD: p92.5<1h: missed in 2 runs\n');
  expect(readFileSync(junit, 'utf8')).toContain('tests="8" failures="2" errors="0"');
  // Kept cells have that percentile and no other.
  expect((await runCli(sweep('p92.5<1h'))).stdout).toContain('missed in 2 of 4 runs');
  const json = JSON.parse((await runCli([...sweep('p92.5<1h'), '--json'])).stdout);
  expect(json.thresholds[2]).toMatchObject({
    run: 'workload.rate=3000/s seed=1',
    ...{ threshold: 'p92.5<1h', ok: false, actual: null },
  });
  const other = await runCli(sweep('p91.5<1h'));
  expect([other.status, other.stdout]).toEqual([
    3,
    expect.stringContaining('✗ p91.5<1h: missed in 2 of 4 runs'),
  ]);
});

test('finished cells are used again wherever the experiment lies and whenever its traces were written', async () => {
  const dir = tempDir();
  const folders = ['here', 'there'].map((name) => join(dir, name)) as [string, string];
  const [here, there] = folders;
  mkdirSync(here);
  const rows = (rate: number) =>
    Array.from({ length: 200 }, (_, i) => `${Math.round((i * 1e9) / rate)},${i % 15},25000000\n`).join('');
  for (const [name, rate] of Object.entries({ 'a.csv': 400, 'b.csv': 800 }))
    writeIn(here, name, `arrival_ns,model_id,slo_ns\n${rows(rate)}`);
  const experiment = SMALL_EXPERIMENT.replace(/workload: .*/, 'workload: { kind: arrivals, path: a.csv }');
  writeIn(here, 'run.yaml', experiment.replace('name: small\n', ''));
  const sweep = async (folder: string, file = 'run.yaml') => {
    const out = join(folder, 'out');
    const vary = words`--vary workload.path=a.csv,b.csv --vary slo=10ms,25ms --set sweep.bound=true`;
    const args = ['sweep', join(folder, file), ...ONE_THREAD, ...vary, '--out', out];
    const { stderr } = await runOk(args);
    const results = readFileSync(join(out, 'results.json'), 'utf8');
    return { reused: Number(/(\d+) finished cells/.exec(stderr)?.[1] ?? 0), results };
  };
  const first = await sweep(here);
  expect(first.reused).toBe(0);
  cpSync(here, there, { recursive: true });
  for (const name of ['a.csv', 'b.csv']) utimesSync(join(there, name), 1, 1);
  rmSync(here, { recursive: true });
  expect(await sweep(there)).toEqual({ reused: 4, results: first.results });
  // Another name of the file is one of the sweep, in its results as if it had run.
  renameSync(join(there, 'run.yaml'), join(there, 'other.yaml'));
  const renamed = first.results.replaceAll('"name":"run"', '"name":"other"');
  expect(await sweep(there, 'other.yaml')).toEqual({ reused: 4, results: renamed });
  const bounds = () => readdirSync(join(there, 'out', 'bounds')).length;
  expect(bounds()).toBe(4);
  const trace = join(there, 'b.csv');
  writeFileSync(trace, readFileSync(trace, 'utf8').replace('25000000', '25000001'));
  utimesSync(trace, 1, 1);
  expect((await sweep(there, 'other.yaml')).reused).toBe(2);
  expect(bounds()).toBe(6);
});

test('says once what the policies do not do of what is asked, and compare says it again', async () => {
  const dir = tempDir();
  const file = writeIn(
    dir,
    'asked.yaml',
    `cluster: { gpus: [{ kind: fast }, { kind: slow, speed: 0.5 }] }
models: { kind: zoo, varieties: 2 }
classes: [{ name: gold, weight: 10 }, { name: others }]
workload: { kind: poisson, rate: 50/s, duration: 1s }
output: { timeline: false }
`,
  );
  const out = join(dir, 'out');
  const vary = ['--vary', 'policy.kind=fifo,clipper,escapement', '--vary', 'slo=50ms,100ms'];
  const { stderr } = await runCli(['sweep', file, ...ONE_THREAD, ...vary, '--out', out]);
  const said = [
    'warning: policies fifo and clipper: weights are ignored; results are still reported by class',
    expect.stringMatching(
      /^note: policy fifo: on several kinds of GPUs: .*any free GPU takes the next batch/,
    ),
    expect.stringMatching(/^note: policy clipper: on several kinds of GPUs: .*slowest GPUs/),
  ];
  const linesOf = (text: string) => text.split('\n').filter((line) => /^(note|warning): /.test(line));
  expect(linesOf(stderr)).toEqual(said);
  expect(linesOf((await runCli(['compare', out])).stderr)).toEqual(said);
  const alone = await runCli(['simulate', file, '--set', 'policy.kind=escapement', '--quiet']);
  expect(alone.stderr).toBe('');
});
