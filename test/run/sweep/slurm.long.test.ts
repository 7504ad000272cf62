import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAIN, ROOT, runOk, SMALL_EXPERIMENT, tempDir, writeIn } from '../../cli/run-cli.js';
import { until } from '../../cli/server-process.js';
import { fencesOf } from '../../docs/markdown.js';
import { missingSlurm, SlurmCluster } from './slurm-cluster.js';

const PAGE = readFileSync(join(ROOT, 'docs/how-to/share-a-sweep.md'), 'utf8');
/** 24 cells of about half a second, which share 12 bounds. */
const LONG = `${SMALL_EXPERIMENT.replace('duration: 2s', 'duration: 60s')}sweep:
  vary: { slo: [10ms, 25ms, 50ms], policy.kind: [clockwork, fifo] }
  seeds: [1, 2, 3, 4]
  bound: true
`;
const CELLS = 24;

describe('a sweep over the tasks of a Slurm array', () => {
  let noSlurm = missingSlurm();
  const cluster = new SlurmCluster();
  const dir = tempDir();
  /** Results of the long sweep on threads. */
  let alone: string;

  beforeAll(async () => {
    if (noSlurm !== '') return;
    noSlurm = await cluster.start();
    if (noSlurm !== '') return;
    cpSync(join(ROOT, 'experiments'), join(dir, 'experiments'), { recursive: true });
    writeIn(dir, 'long.yaml', LONG);
    const out = join(dir, 'alone');
    await runOk(['sweep', join(dir, 'long.yaml'), '--out', out, '--threads', '2', '--quiet']);
    alone = readFileSync(join(out, 'results.json'), 'utf8');
  });
  afterAll(() => cluster.stop());

  it('gives the bytes of a sweep on one machine, by the scripts of the documentation', async ({ skip }) => {
    skip(noSlurm !== '', `no sweep on Slurm: ${noSlurm}`);
    for (const { file, code } of fencesOf(PAGE)) {
      const here = code.replaceAll('npx escapement', `"${process.execPath}" "${MAIN}"`);
      if (file !== undefined) writeFileSync(join(dir, file), here);
    }
    const array = await cluster.submit(dir, 'sweep.sbatch');
    await cluster.submit(dir, `--dependency=afterany:${array}`, 'collect.sbatch');
    await cluster.jobsEnded();
    expect(readFileSync(join(dir, 'shard-2.log'), 'utf8')).toMatch(/^shard 2\/4: 1 run, 0 of them/m);
    expect(readFileSync(join(dir, 'report.txt'), 'utf8')).toContain('4 finished cells were reused');
    const sweep = ['sweep', 'experiments/schedule-ahead.yaml', '--vary', 'slo=10ms,25ms', '--seeds', '1,2'];
    await runOk([...sweep, '--threads', '2', '--out', 'one'], { cwd: dir });
    const results = (out: string) => readFileSync(join(dir, out, 'results.json'), 'utf8');
    expect(results('out/slurm')).toBe(results('one'));
  });

  it('loses no finished cell when a task is killed, and submitting it again goes on', async ({ skip }) => {
    skip(noSlurm !== '', `no sweep on Slurm: ${noSlurm}`);
    const { script, cells, finish } = long('killed');
    const array = await cluster.submit(dir, '--array=0-3', script);
    await until(() => cells().length >= 4);
    await Promise.all([
      cluster.run('scancel', ['--signal=KILL', '--full', `${array}_1`]),
      cluster.run('scancel', [`${array}_2`]),
    ]);
    await cluster.jobsEnded();
    const kept = writtenMs(cells());
    expect(kept.size).toBeLessThan(CELLS);
    // Not the numbers of before: these two share what is missing.
    await cluster.submit(dir, '--array=1-2', script);
    await cluster.jobsEnded();
    expect(await finish()).toBe(alone);
    const after = writtenMs(cells());
    expect([...kept].filter(([path, ms]) => after.get(path) !== ms)).toEqual([]);
  });

  it('goes on while the daemon of a node restarts, and after the node has', async ({ skip }) => {
    skip(noSlurm !== '', `no sweep on Slurm: ${noSlurm}`);
    const { script, cells, finish } = long('restarted');
    await cluster.submit(dir, '--array=1-4', script);
    await until(() => cells().length >= 3);
    await cluster.killNodeDaemon();
    cluster.startNode();
    await until(() => cells().length >= 6);
    await cluster.killNode();
    const kept = writtenMs(cells());
    expect(kept.size).toBeLessThan(CELLS);
    cluster.startNode();
    // Slurm has put the tasks of the node that failed back into the queue.
    await cluster.jobsEnded();
    expect(cells()).toHaveLength(CELLS);
    expect(await finish()).toBe(alone);
    const after = writtenMs(cells());
    expect([...kept].filter(([path, ms]) => after.get(path) !== ms)).toEqual([]);
  });

  /** The long sweep, into a folder of its own. */
  function long(name: string) {
    // Tests may be tried twice.
    const out = mkdtempSync(join(dir, `${name}-`));
    mkdirSync(join(out, 'cells'), { recursive: true });
    const sweep = `sweep "${join(dir, 'long.yaml')}" --out "${out}" --threads 1`;
    const script = `${name}.sbatch`;
    const command = `exec "${process.execPath}" "${MAIN}" ${sweep} --shard $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT`;
    const options = `#SBATCH --requeue --open-mode=append --output=${name}-%a.log`;
    writeIn(dir, script, `#!/bin/bash\n${options}\n${command}\n`);
    const cells = () =>
      readdirSync(join(out, 'cells'))
        .filter((file) => file.endsWith('.json'))
        .map((file) => join(out, 'cells', file));
    const finish = async () => {
      const { stderr } = await runOk(['sweep', join(dir, 'long.yaml'), '--out', out, '--threads', '2']);
      expect(stderr).toContain(`${CELLS} finished cells were reused`);
      return readFileSync(join(out, 'results.json'), 'utf8');
    };
    return { script, cells, finish };
  }
});

function writtenMs(paths: readonly string[]): Map<string, number> {
  return new Map(paths.map((path) => [path, statSync(path).mtimeMs]));
}
