import { usableCores } from '../../base/limits/usable.js';
import { threadPool } from '../../run/sweep/pool.js';
import { plural } from '../../text/words.js';
import type { SweepWorkerArgs } from '../commands/sweep-worker.js';
import { untilStopped } from '../interruption.js';
import { addressOf, say } from '../queue.js';
import { packageVersion } from '../version.js';

/** Progress is not shown more often than this. */
const SAID_MS = 30_000;

/** `escapement sweep-worker`: runs cells of sweeps on other machines, until it is stopped. */
export async function run(args: SweepWorkerArgs): Promise<void> {
  const threads = args.threads ?? usableCores();
  const address = await addressOf(args);
  const { startSweepWorker } = await import('../../run/queue/sweep-worker.js');
  let ran = 0;
  let failed = 0;
  let saidMs = performance.now();
  const soFar = () => `${plural(ran, 'run')} finished${failed === 0 ? '' : `, ${failed} of them failed`}`;
  const tell = (what: string) => {
    if (!args.quiet) say(what);
  };
  const worker = await startSweepWorker(address, {
    ...{ version: packageVersion(), threads, openRunner: threadPool, plugins: args.plugin, say },
    onCell: ({ status }) => {
      ran++;
      if (status === 'failed') failed++;
      if (performance.now() - saidMs < SAID_MS) return;
      saidMs = performance.now();
      tell(soFar());
    },
  });
  tell(`runs cells of ${address.shown} on ${plural(threads, 'thread')}`);
  const signal = await untilStopped();
  tell(`${signal}: takes no more cells and waits for those that run`);
  await worker.stop();
  tell(soFar());
}
