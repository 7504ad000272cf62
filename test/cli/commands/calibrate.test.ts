import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../../src/config/load.js';
import { JournalWriter } from '../../../src/live/journal/journal-writer.js';
import type { Calibration } from '../../../src/run/calibrate/calibrate.js';
import { Simulation } from '../../../src/run/simulation.js';
import { header, journaled } from '../../live/journal/fixtures.js';
import { runCli, runOk, tempDir } from '../run-cli.js';

const EXPERIMENT = `seed: 1
cluster: { gpus: 2 }
models: { kind: zoo, varieties: 4 }
workload: { kind: poisson, rate: 250/s, duration: 40s }
slo: 100ms
warmup: 2s
`;
/** The machine that ran live, which the simulation does not know. */
const MACHINE = [
  'cluster.noise={ exec: 6%, stragglers: 0.5%, stragglerFactor: 4, scale: { resnet50: 1.1, vgg16: 0.95 } }',
  'cluster.network={ delay: 400us, jitter: 150us }',
  'cluster.overhead=200us',
];

async function folderWith(...runs: (readonly [name: string, sets: readonly string[]])[]): Promise<string> {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'e.yaml'), EXPERIMENT);
  for (const [name, sets] of runs) {
    const flags = sets.flatMap((set) => ['--set', set]);
    await runOk(['simulate', 'e.yaml', ...flags, '--out', name, '--quiet'], { cwd });
  }
  return cwd;
}

async function calibrated(cwd: string, ...args: string[]): Promise<Calibration> {
  const [live, ...flags] = args[0]?.startsWith('--') === false ? args : ['live', ...args];
  return JSON.parse((await runOk(['calibrate', live!, 'simulated', '--json', ...flags], { cwd })).stdout);
}

const factorOf = (text: string | undefined) => Number.parseFloat(text ?? '');

describe('calibrate', () => {
  it('finds the machine that ran live, with which the simulation comes closer', async () => {
    const cwd = await folderWith(['live', MACHINE], ['simulated', []]);
    const { keys, parts } = await calibrated(cwd, '--out', 'machine.set');
    const found = new Map(keys.map(({ key, is }) => [key, is]));
    expect([...found.keys()]).toEqual([
      ...['cluster.noise.scale.resnet50', 'cluster.noise.scale.vgg16', 'cluster.noise.exec'],
      ...['cluster.noise.stragglers', 'cluster.noise.stragglerFactor', 'cluster.network.delay'],
      ...['cluster.network.jitter', 'cluster.overhead'],
    ]);
    const within = (key: string, value: number, share: number) =>
      expect(Math.abs(factorOf(found.get(key)) / value - 1), key).toBeLessThan(share);
    within('cluster.noise.scale.resnet50', 1.1, 0.01);
    within('cluster.noise.scale.vgg16', 0.95, 0.01);
    within('cluster.noise.exec', 6, 0.03);
    within('cluster.noise.stragglers', 0.5, 0.2);
    within('cluster.noise.stragglerFactor', 4, 0.03);
    within('cluster.network.delay', 400, 0.05);
    within('cluster.network.jitter', 150, 0.05);
    within('cluster.overhead', 200, 0.05);
    // All requests and four models: what is left is luck of the draws.
    expect(parts).toHaveLength(5);
    const errors = (of: (part: Calibration['parts'][number]) => readonly (number | null)[]) =>
      parts
        .map(of)
        .map(([live, ...simulated]) => simulated.map((ms) => Math.abs((ms ?? 0) / (live ?? 0) - 1)));
    for (const [before, after] of errors(({ p50Ms }) => p50Ms)) expect(after).toBeLessThan((before ?? 0) / 3);
    for (const [before, after] of errors(({ p99Ms }) => p99Ms)) expect(after).toBeLessThan(before ?? 0);

    await runOk(['simulate', 'e.yaml', '--set', '@machine.set', '--out', 'simulated', '--quiet'], { cwd });
    expect(await calibrated(cwd)).toMatchObject({ keys: [], overrides: [] });
  });

  it('tells from a journal what it tells from the folder of the same run', async () => {
    const cwd = await folderWith(['live', MACHINE], ['simulated', []]);
    const experiment = await parseExperiment(EXPERIMENT, 'e.yaml', MACHINE);
    const simulation = await Simulation.open(experiment);
    const { models, cluster, sloNs, policy, admission } = experiment;
    const own = { models, gpus: cluster.gpus, pages: cluster.pages, defaultSloNs: sloNs, policy, admission };
    const journal = new JournalWriter(
      join(cwd, 'run.journal'),
      header('escapement', own as object),
      (error) => {
        throw error;
      },
    );
    journaled(simulation.controller, journal);
    await simulation.advance(Number.POSITIVE_INFINITY);
    await journal.close(simulation.controller.digest);
    const [ofRun, ofJournal] = [await calibrated(cwd), await calibrated(cwd, 'run.journal')];
    expect(ofJournal.keys).toEqual(ofRun.keys);
    // Histograms of the run have coarser buckets.
    for (const [i, part] of ofRun.parts.entries())
      for (const key of ['p50Ms', 'p99Ms', 'goodputRps'] as const)
        expect(Math.abs(ofJournal.parts[i]![key][0]! / part[key][0]! - 1)).toBeLessThan(0.01);
    const other = await folderWith(['other', ['models={ kind: zoo, varieties: 2 }']]);
    const few = await runOk(['calibrate', join(cwd, 'run.journal'), 'other', '--json'], { cwd: other });
    expect(few.stderr).toContain('warning: not simulated, and left out: densenet121, vgg16');
    const more = await folderWith(['more', ['cluster.gpus=3']]);
    const { stderr } = await runCli(['calibrate', join(cwd, 'run.journal'), 'more'], { cwd: more });
    expect(stderr).toContain('has 2 GPUs, the simulation 3: simulate the experiment that ran live');
  });

  it('says in one line what it cannot compare', async () => {
    const other = ['models={ kind: zoo, varieties: 2 }'];
    const none = ['policy.kind=clockwork', 'slo=1ms'];
    const cwd = await folderWith(
      ...([
        ['live', []],
        ['other', other],
        ['more', ['cluster.gpus=3']],
        ['none', none],
      ] as const),
    );
    const problem = async (live: string, simulated: string) => {
      const { status, stderr } = await runCli(['calibrate', live, simulated], { cwd });
      expect(status).not.toBe(0);
      return stderr
        .split('\n')
        .filter((line) => line.startsWith('escapement:'))
        .join('\n');
    };
    expect((await runCli(['calibrate', 'live'], { cwd })).stderr).toContain(
      'needs two, a live run and its simulation',
    );
    expect(await problem('nowhere', 'live')).toContain('E_RESULTS: nowhere: folder does not exist');
    expect(await problem('live', 'other')).toContain(
      'live: its model 2 is vgg16, that of the simulation none: simulate the experiment that ran live',
    );
    expect(await problem('live', 'more')).toContain('live: has 2 GPUs, the simulation 3');
    expect(await problem('none', 'live')).toContain('none: has no INFER that ended well');
    const run = JSON.parse(readFileSync(join(cwd, 'other', 'run.json'), 'utf8'));
    run.summary.kind = 'live';
    writeFileSync(join(cwd, 'other', 'run.json'), JSON.stringify(run));
    expect(await problem('live', 'other')).toContain('other: is a live run: give the live run first');
    rmSync(join(cwd, 'live', 'actions.tsv'));
    expect(await problem('live', 'none')).toContain('live: needs both requests.tsv and actions.tsv');
  });
});

it('takes overrides from the lines of a file', async () => {
  const cwd = await folderWith();
  writeFileSync(join(cwd, 'some.set'), 'workload.duration=3s\n\nworkload.rate=10/s\n');
  const flags = ['--set', '@some.set', '--set', 'workload.rate=20/s', '--json'];
  const { stdout } = await runOk(['simulate', 'e.yaml', ...flags], { cwd });
  expect(JSON.parse(stdout)).toMatchObject({ durationSeconds: 1 });
  expect(JSON.parse(stdout).requests.offered).toBeGreaterThan(10);
  const { stderr } = await runCli(['simulate', 'e.yaml', '--set', '@no.set'], { cwd });
  expect(stderr).toContain('E_FILE_MISSING: no.set: --set @no.set: no such file');
  writeFileSync(join(cwd, 'bad.set'), 'seed=3\n\nworkload.rate=fast\n');
  const bad = await runCli(['simulate', 'e.yaml', '--set', '@bad.set'], { cwd });
  expect(bad.stderr).toContain('E_CONFIG_VALUE: bad.set:3: workload.rate=fast: must be a rate');
});

it('refuses factors of models that are not there', async () => {
  const cwd = await folderWith();
  const { stderr } = await runCli(['simulate', 'e.yaml', '--set', 'cluster.noise.scale={ resnet: 2 }'], {
    cwd,
  });
  expect(stderr).toContain('there is no such model: did you mean "resnet50"?');
});
