import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAIN, ROOT, runOk, tempDir } from '../../cli/run-cli.js';
import { fencesOf } from '../../docs/markdown.js';
import { missingSlurm, SlurmCluster } from './slurm-cluster.js';

const PAGE = readFileSync(join(ROOT, 'docs/how-to/share-a-sweep.md'), 'utf8');
describe('a sweep over the tasks of a Slurm array', () => {
  let noSlurm = missingSlurm();
  const cluster = new SlurmCluster();
  const dir = tempDir();

  beforeAll(async () => {
    if (noSlurm !== '') return;
    noSlurm = await cluster.start();
    if (noSlurm !== '') return;
    cpSync(join(ROOT, 'experiments'), join(dir, 'experiments'), { recursive: true });
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
});
