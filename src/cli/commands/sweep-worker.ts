import type { Argv } from 'yargs';
import { plugin, queueTrustFlags, quiet } from '../common-options.js';
import { type ArgsOf, group, required, text, whole } from '../options.js';

const builder = (yargs: Argv) =>
  yargs
    .options({
      ...group('Queue', {
        queue: required(text('Redis server with the queue, e.g. redis://host:6379')),
        ...queueTrustFlags(),
      }),
      ...group('Execution', {
        threads: whole(1, 'Cells to run at the same time', 'one per core'),
        plugin,
      }),
      ...group('Output', { quiet }),
    })
    .example([
      ['$0 sweep-worker --queue redis://host:6379', ''],
      [
        '$0 sweep-worker --queue rediss://sweeps@host:6380 --queue-ca ca.pem --queue-password-file password',
        '',
      ],
    ])
    .epilogue(
      [
        'Runs the cells of every sweep and plan with the same --queue until it is stopped. Workers may come and go at any ' +
          'time. Ctrl-C lets the running cells end; a second one a second later does not, and others run them again.',
        'Files come through the queue. Plugins do not: a policy of a plugin needs --plugin with the same file here.',
      ].join('\n\n'),
    );

export type SweepWorkerArgs = ArgsOf<typeof builder>;

export const sweepWorker = {
  command: 'sweep-worker',
  describe: 'Run cells of sweeps and plans on other machines',
  builder,
};
