import { EscapementError } from '../base/errors.js';
import type { SweepQuestion } from '../run/sweep/plan-sweep.js';
import type { SweepStatus } from '../run/sweep/sweep-experiment.js';
import type { Shard } from '../run/sweep/units.js';
import { plural } from '../text/words.js';
import type { runCells } from './cell-runs.js';
import { print } from './common-options.js';
import { usageError, wholeNumber } from './options.js';

export interface ShardedSweep extends SweepQuestion {
  readonly outDir: string;
  readonly threads: number;
  readonly fresh: boolean;
}

type ShardArgs = Parameters<typeof runCells>[0] & { readonly json: boolean };

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Parses `--shard`: `2/4`; `auto` for the task numbers of a batch system's array; `auto/4` if it does not report the
 * number of tasks. Throws `E_USAGE`.
 */
export function readShard(text: string, environment: Environment): Shard {
  const fail = (what: string) => usageError(`--shard ${text}: ${what}`);
  const [, part, parts] = /^([^/]+)(?:\/([^/]*))?$/.exec(text) ?? [];
  if (part === undefined || (parts === undefined && part !== 'auto'))
    throw fail('write I/N, the part and the number of parts, such as 1/4 to 4/4, or auto');
  const asked = parts === undefined ? undefined : wholeNumber(parts, `--shard ${text}: parts`, 1);
  const checked = (index: number, count: number, found = ''): Shard => {
    if (index >= 1 && index <= count) return { index, count };
    throw fail(`${found}part ${index} does not exist: they are 1/${count} to ${count}/${count}`);
  };
  if (part !== 'auto') return checked(wholeNumber(part, `--shard ${text}: part`, 0), asked!);
  const read = (name: string, least: number) => {
    const value = environment[name];
    if (value === undefined) throw fail(`${name} is not set; write I/N instead`);
    return wholeNumber(value, name, least);
  };
  if (environment.SLURM_ARRAY_TASK_ID === undefined) {
    if (environment.JOB_COMPLETION_INDEX === undefined)
      throw fail('neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set; write I/N instead');
    if (asked === undefined)
      throw fail(
        'JOB_COMPLETION_INDEX does not say how many there are: write auto/N with the completions of the job',
      );
    const index = read('JOB_COMPLETION_INDEX', 0);
    return checked(index + 1, asked, `JOB_COMPLETION_INDEX is ${index}: `);
  }
  const [id, count] = [read('SLURM_ARRAY_TASK_ID', 0), read('SLURM_ARRAY_TASK_COUNT', 1)];
  const [min, max] = [read('SLURM_ARRAY_TASK_MIN', 0), read('SLURM_ARRAY_TASK_MAX', 0)];
  if (asked !== undefined && asked !== count)
    throw fail(`the array has ${count} tasks (SLURM_ARRAY_TASK_COUNT); write auto, or I/${asked}`);
  // Tasks of an array may begin at any number, with equal gaps.
  const step = count === 1 ? 1 : (max - min) / (count - 1);
  const index = (id - min) / step + 1;
  if (Number.isSafeInteger(step) && Number.isSafeInteger(index))
    return checked(index, count, `SLURM_ARRAY_TASK_ID is ${id}: `);
  throw fail(
    `the ${count} tasks of the array from ${min} to ${max} (SLURM_ARRAY_TASK_COUNT, _MIN and _MAX) are not evenly spaced; write I/N instead`,
  );
}

/** `sweep --shard`: runs a part of the cells, and leaves the report to a call without it. */
export async function runShard(sweep: ShardedSweep, shard: Shard, args: ShardArgs): Promise<void> {
  const { sweepShard } = await import('../run/sweep/sweep-experiment.js');
  const { runCells } = await import('./cell-runs.js');
  const { outDir, threads } = sweep;
  const name = `${shard.index}/${shard.count}`;
  const failed: { readonly id: string; readonly code: string; readonly message: string }[] = [];
  const words = { label: `shard ${name}`, noun: 'runs', outDir } as const;
  const { status, reused, total } = await runCells(args, words, async (runs) => {
    const status = await sweepShard({
      ...{ ...sweep, shard, openRunner: runs.openRunner },
      onPlan: ({ length }) =>
        runs.begin(length, `shard ${name}: ${plural(length, 'run')} on ${plural(threads, 'thread')}\n`),
      onUnit: ({ id }, found) => {
        if (found.status === 'failed') failed.push({ id, code: found.code, message: found.message });
        runs.count(found);
        runs.show(`${runs.known}/${runs.total} runs`);
      },
    });
    return { status, reused: runs.reused, total: runs.total };
  });
  print(args, { shard: name, runs: total, reused, failed, ...status }, () => {
    const failures = failed.map(({ id, code, message }) => `failed: ${id}: ${code}: ${message}\n`).join('');
    const mine = `shard ${name}: ${plural(total, 'run')}, ${reused} of them finished before\n`;
    return `${mine}${failures}${statusText(status, outDir)}`;
  });
  if (failed.length === 0) return;
  const what = `${failed.length} of ${plural(total, 'run')} of this shard failed`;
  throw new EscapementError('E_CELLS_FAILED', what);
}

/** `sweep --status`: number of finished cells. */
export async function printStatus(sweep: ShardedSweep, args: ShardArgs): Promise<void> {
  const { sweepStatus } = await import('../run/sweep/sweep-experiment.js');
  const status = await sweepStatus(sweep);
  print(args, status, () => statusText(status, sweep.outDir));
}

function statusText({ cells, bounds }: SweepStatus, outDir: string): string {
  const count = ({ finished, all }: SweepStatus['cells'], noun: string) =>
    `${finished} of ${plural(all, noun)}`;
  const there = [count(cells, 'cell'), ...(bounds.all === 0 ? [] : [count(bounds, 'bound')])].join(' and ');
  const missing = cells.all - cells.finished + bounds.all - bounds.finished;
  const next = missing === 0 ? ': the same command without --shard writes the report' : '';
  return `${outDir} has ${there}${next}\n`;
}
