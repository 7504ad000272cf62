import { EscapementError } from '../base/errors.js';
import type { SweepQuestion } from '../run/sweep/plan-sweep.js';
import type { SweepStatus } from '../run/sweep/sweep-experiment.js';
import type { Shard } from '../run/sweep/units.js';
import { plural } from '../text/words.js';
import type { runCells } from './cell-runs.js';
import { print } from './common-options.js';

export interface ShardedSweep extends SweepQuestion {
  readonly outDir: string;
  readonly threads: number;
  readonly fresh: boolean;
}

type ShardArgs = Parameters<typeof runCells>[0] & { readonly json: boolean };

/** Parses `2/4`. Parts count from 0 or from 1, like array jobs of batch systems. */
export function shardOf(text: string): Shard {
  const [, index, count] = (/^(\d+)\/(\d+)$/.exec(text) ?? []).map(Number);
  if (index !== undefined && count !== undefined && count > 0 && index <= count) return { index, count };
  throw new Error('write I/N, the part and the number of parts, such as 1/4 to 4/4');
}

/** `sweep --shard`: runs a part of the cells, and leaves the report to a call without it. */
export async function runShard(sweep: ShardedSweep, shard: Shard, args: ShardArgs): Promise<void> {
  const { sweepShard } = await import('../run/sweep/sweep-experiment.js');
  const { runCells } = await import('./cell-runs.js');
  const { outDir, threads } = sweep;
  const name = `${shard.index}/${shard.count}`;
  const failed: { readonly id: string; readonly code: string; readonly message: string }[] = [];
  const words = { label: `shard ${name}`, noun: 'run', outDir } as const;
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
