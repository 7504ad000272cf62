import { EscapementError } from '../base/errors.js';
import type { SweepQuestion } from '../run/sweep/plan-sweep.js';
import { threadPool } from '../run/sweep/pool.js';
import { type SweepStatus, sweepShard, sweepStatus } from '../run/sweep/sweep-experiment.js';
import type { Shard } from '../run/sweep/units.js';
import { writeErr, writeOut } from '../text/terminal.js';
import { plural } from '../text/words.js';
import { interruptible } from './interruption.js';
import { openProgress, type Progress } from './progress.js';

interface Sweep extends SweepQuestion {
  readonly outDir: string;
}

interface ShardedSweep extends Sweep {
  readonly threads: number;
  readonly fresh: boolean;
}

interface Output {
  readonly json: boolean;
  readonly quiet: boolean;
}

interface Failed {
  readonly id: string;
  readonly code: string;
  readonly message: string;
}

/** `sweep --shard`: runs a part of the cells, and leaves the report to a call without it. */
export async function runShard(sweep: ShardedSweep, shard: Shard, { json, quiet }: Output): Promise<void> {
  const { outDir, threads } = sweep;
  const name = `${shard.index}/${shard.count}`;
  const failed: Failed[] = [];
  let progress: Progress | undefined;
  let total = 0;
  let known = 0;
  let reused = 0;
  const work = () =>
    sweepShard({
      ...sweep,
      shard,
      openRunner: (most = threads) => threadPool(Math.min(threads, most)),
      onPlan: (units) => {
        total = units.length;
        if (!quiet) writeErr(`shard ${name}: ${plural(total, 'run')} on ${threads} threads\n`);
        progress = openProgress(`shard ${name}`, quiet);
      },
      onUnit: ({ id }, found) => {
        known++;
        if (found.status === 'failed') failed.push({ id, code: found.code, message: found.message });
        else if (found.reused) reused++;
        progress?.update(known / total, `${known}/${total} runs`);
      },
    });
  const kept = () => {
    progress?.stop();
    return `${known - failed.length} of the ${total} runs of this shard are kept in ${outDir}; repeat the command to resume`;
  };
  const status = await interruptible(work, kept).finally(() => progress?.stop());
  if (json) print({ shard: name, runs: total, reused, failed, ...status });
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

/** `sweep --status`: how many cells are there. */
export async function printStatus(sweep: Sweep, { json }: Output): Promise<void> {
  const status = await sweepStatus(sweep);
  if (json) print(status);
  else writeOut(statusText(status, sweep.outDir));
}

function statusText({ cells, bounds }: SweepStatus, outDir: string): string {
  const count = ({ finished, all }: SweepStatus['cells'], noun: string) =>
    `${finished} of ${plural(all, noun)}`;
  const there = [count(cells, 'cell'), ...(bounds.all === 0 ? [] : [count(bounds, 'bound')])].join(' and ');
  const missing = cells.all - cells.finished + bounds.all - bounds.finished;
  const next = missing === 0 ? ': the same command without --shard writes the report' : '';
  return `${outDir} has ${there}${next}\n`;
}

function print(object: object): void {
  writeOut(`${JSON.stringify(object)}\n`);
}
