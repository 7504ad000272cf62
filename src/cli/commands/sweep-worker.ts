import { usableCores } from '../../base/limits/usable.js';
import { plural } from '../../text/words.js';
import { plugin, queueFlags, quiet } from '../common-options.js';
import { untilStopped } from '../interruption.js';
import { group, required, text, type ValuesOf, whole } from '../options.js';
import { packageVersion } from '../version.js';

export const flags = {
  ...queueFlags(required(text('Redis server with the queue, e.g. redis://host:6379'))),
  ...group('Execution', {
    threads: whole(1)('Cells to run at the same time', 'one per core'),
    plugin,
  }),
  ...group('Output', { quiet }),
};
export const examples = [
  'sweep-worker --queue redis://host:6379',
  'sweep-worker --queue rediss://sweeps@host:6380 --queue-ca ca.pem --queue-password-file password',
];
export const notes = [
  'Runs the cells of every sweep and plan with the same --queue until it is stopped. Ctrl-C waits for running cells; a ' +
    'second Ctrl-C, at least a second later, leaves them to other workers.',
  'Files come through the queue. Plugins do not: a policy of a plugin needs --plugin with the same file here.',
].join('\n\n');

/** Shortest interval between progress messages. */
const SAID_MS = 30_000;

/** `escapement sweep-worker`: runs cells of sweeps from other machines, until stopped. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { addressOf, say } = await import('../cell-runs.js');
  const threads = args.threads ?? usableCores();
  const address = await addressOf(args);
  const { threadPool } = await import('../../run/sweep/pool.js');
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
  tell(`${signal}: takes no more cells and waits for running ones`);
  await worker.stop();
  tell(soFar());
}
