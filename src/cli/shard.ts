import { EscapementError } from '../base/errors.js';
import type { SweepQuestion } from '../run/sweep/plan-sweep.js';
import type { SweepStatus } from '../run/sweep/sweep-experiment.js';
import type { Shard } from '../run/sweep/units.js';
import { writeOut } from '../text/terminal.js';
import { plural } from '../text/words.js';
import type { CellRuns, runCells } from './cell-runs.js';
import { usageError, wholeNumber } from './options.js';

interface Sweep extends SweepQuestion {
  readonly outDir: string;
}

export interface ShardedSweep extends Sweep {
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
  const [index = '', count, ...more] = text.split('/');
  if (more.length > 0 || index === '' || (count === undefined && index !== 'auto')) {
    throw usage(text, 'write I/N, the part and the number of parts, such as 1/4 to 4/4, or auto');
  }
  const parts = count === undefined ? undefined : wholeNumber(count, `--shard ${text}: parts`, 1);
  if (index === 'auto') return automatic(text, parts, environment);
  return checked(text, { index: wholeNumber(index, `--shard ${text}: part`, 0), count: parts as number });
}

function automatic(text: string, count: number | undefined, environment: Environment): Shard {
  if (environment.SLURM_ARRAY_TASK_ID !== undefined) return ofSlurm(text, count, environment);
  const index = environment.JOB_COMPLETION_INDEX;
  if (index === undefined) {
    throw usage(text, 'neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set; write I/N instead');
  }
  if (count === undefined) {
    throw usage(
      text,
      'JOB_COMPLETION_INDEX does not say how many there are: write auto/N with the completions of the job',
    );
  }
  const shard = { index: wholeNumber(index, 'JOB_COMPLETION_INDEX', 0) + 1, count };
  return checked(text, shard, `JOB_COMPLETION_INDEX is ${index}: `);
}

/** Tasks of an array may begin at any number, with equal gaps. */
function ofSlurm(text: string, asked: number | undefined, environment: Environment): Shard {
  const read = (name: string, least: number) => {
    const value = environment[`SLURM_ARRAY_TASK_${name}`];
    if (value === undefined) throw usage(text, `SLURM_ARRAY_TASK_${name} is not set; write I/N instead`);
    return wholeNumber(value, `SLURM_ARRAY_TASK_${name}`, least);
  };
  const [id, count, min, max] = [read('ID', 0), read('COUNT', 1), read('MIN', 0), read('MAX', 0)];
  if (asked !== undefined && asked !== count) {
    throw usage(text, `the array has ${count} tasks (SLURM_ARRAY_TASK_COUNT); write auto, or I/${asked}`);
  }
  const step = count === 1 ? 1 : (max - min) / (count - 1);
  const index = (id - min) / step + 1;
  if (Number.isSafeInteger(step) && Number.isSafeInteger(index)) {
    return checked(text, { index, count }, `SLURM_ARRAY_TASK_ID is ${id}: `);
  }
  throw usage(
    text,
    `the ${count} tasks of the array from ${min} to ${max} (SLURM_ARRAY_TASK_COUNT, _MIN and _MAX) are not evenly spaced; write I/N instead`,
  );
}

/** `found` begins the message: the source of the part if not the flag. */
function checked(text: string, shard: Shard, found = ''): Shard {
  const { index, count } = shard;
  if (index >= 1 && index <= count) return shard;
  throw usage(text, `${found}part ${index} does not exist: they are 1/${count} to ${count}/${count}`);
}

function usage(text: string, what: string): EscapementError {
  return usageError(`--shard ${text}: ${what}`);
}

/** `sweep --shard`: runs a part of the cells, and leaves the report to a call without it. */
export async function runShard(sweep: ShardedSweep, shard: Shard, args: ShardArgs): Promise<void> {
  const { sweepShard } = await import('../run/sweep/sweep-experiment.js');
  const { runCells } = await import('./cell-runs.js');
  const { outDir, threads } = sweep;
  const name = `${shard.index}/${shard.count}`;
  const failed: { readonly id: string; readonly code: string; readonly message: string }[] = [];
  const kept = ({ known, total }: CellRuns) =>
    `${known - failed.length} of the ${total} runs of this shard are kept in ${outDir}; repeat the command to resume`;
  const { status, reused, total } = await runCells(args, { label: `shard ${name}`, kept }, async (runs) => {
    const status = await sweepShard({
      ...{ ...sweep, shard, openRunner: runs.openRunner },
      onPlan: ({ length }) =>
        runs.begin(length, `shard ${name}: ${plural(length, 'run')} on ${threads} threads\n`),
      onUnit: ({ id }, found) => {
        if (found.status === 'failed') failed.push({ id, code: found.code, message: found.message });
        runs.count(found);
        runs.show(`${runs.known}/${runs.total} runs`);
      },
    });
    return { status, reused: runs.reused, total: runs.total };
  });
  if (args.json) writeOut(`${JSON.stringify({ shard: name, runs: total, reused, failed, ...status })}\n`);
  else {
    const failures = failed.map(({ id, code, message }) => `failed: ${id}: ${code}: ${message}\n`).join('');
    const mine = `shard ${name}: ${plural(total, 'run')}, ${reused} of them finished before\n`;
    writeOut(`${mine}${failures}${statusText(status, outDir)}`);
  }
  if (failed.length === 0) return;
  throw new EscapementError(
    'E_CELLS_FAILED',
    `${failed.length} of ${plural(total, 'run')} of this shard failed`,
  );
}

/** `sweep --status`: number of finished cells. */
export async function printStatus(sweep: Sweep, json: boolean): Promise<void> {
  const { sweepStatus } = await import('../run/sweep/sweep-experiment.js');
  const status = await sweepStatus(sweep);
  writeOut(json ? `${JSON.stringify(status)}\n` : statusText(status, sweep.outDir));
}

function statusText({ cells, bounds }: SweepStatus, outDir: string): string {
  const count = ({ finished, all }: SweepStatus['cells'], noun: string) =>
    `${finished} of ${plural(all, noun)}`;
  const there = [count(cells, 'cell'), ...(bounds.all === 0 ? [] : [count(bounds, 'bound')])].join(' and ');
  const missing = cells.all - cells.finished + bounds.all - bounds.finished;
  const next = missing === 0 ? ': the same command without --shard writes the report' : '';
  return `${outDir} has ${there}${next}\n`;
}
