import { usableCores } from '../base/limits/usable.js';
import type { OpenRunner } from '../run/sweep/pool.js';
import { threadPool } from '../run/sweep/pool.js';
import { writeErr } from '../text/terminal.js';
import type { PlanArgs } from './commands/plan.js';
import { interruptible } from './interruption.js';
import { openProgress, type Progress } from './progress.js';
import { openQueue } from './queue.js';

/** What the work of a plan gets, and tells. */
interface PlanHooks {
  readonly openRunner: OpenRunner;
  /** To be called before the first run, with what there is to do in words and about how many runs it takes. */
  start(seeds: readonly number[], what: string, runs: number): void;
  onRun(reused: boolean): void;
}

/** Runs a plan on threads of this machine or on the workers of a queue, shows how far it is, and can be interrupted. */
export async function runPlan<T>(args: PlanArgs, plan: (hooks: PlanHooks) => Promise<T>): Promise<T> {
  const { out, quiet } = args;
  const threads = args.threads ?? usableCores();
  const queue = await openQueue(args);
  let progress: Progress | undefined;
  let known = 0;
  let reused = 0;
  let expected = 0;
  const work = async () => {
    const result = await plan({
      openRunner: () => queue?.runner ?? threadPool(threads),
      start: (seeds, what, runs) => {
        expected = runs;
        const where = queue?.place ?? `${threads} threads`;
        if (!quiet) writeErr(`seed ${seeds.join(', ')}: ${what}, ${where}\n`);
        progress = openProgress('plan', quiet);
      },
      onRun: (wasFinished) => {
        known++;
        if (wasFinished) reused++;
        progress?.update(Math.min(0.99, known / expected), `${known} runs${queue?.note() ?? ''}`);
      },
    });
    progress?.stop();
    if (reused > 0 && !quiet) writeErr(`${reused} finished runs were reused\n`);
    if (!quiet) writeErr(queue?.report() ?? '');
    return result;
  };
  const kept = () => {
    progress?.stop();
    if (out === undefined) return 'no run is kept without --out';
    return `${known} runs are kept in ${out}; repeat the command to resume`;
  };
  return interruptible(work, kept, () => queue?.close()).finally(() => {
    progress?.stop();
    return queue?.close();
  });
}
