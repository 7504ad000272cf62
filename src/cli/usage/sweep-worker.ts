import { group, required, text, whole } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { plugin, queueTrustFlags, quiet } from './common.js';

export const usage = usageOf({
  flags: {
    ...group('Queue', {
      queue: required(text('URL', 'Redis server with the queue, e.g. redis://host:6379')),
      ...queueTrustFlags(),
    }),
    ...group('Execution', {
      threads: whole(1, 'Cells to run at the same time', 'one per core'),
      plugin,
    }),
    ...group('Output', { quiet }),
  },
  examples: [
    'sweep-worker --queue redis://host:6379',
    'sweep-worker --queue rediss://sweeps@host:6380 --queue-ca ca.pem --queue-password-file password',
  ],
  notes: [
    'Runs the cells of every sweep and plan with the same --queue until it is stopped. Workers may come and go at any ' +
      'time. Ctrl-C lets the running cells end; a second one a second later does not, and others run them again.',
    'Files come through the queue. Plugins do not: a policy of a plugin needs --plugin with the same file here.',
  ],
});

export type SweepWorkerArgs = ArgsOf<typeof usage>;
