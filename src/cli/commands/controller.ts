import type { Argv } from 'yargs';
import { type ArgsOf, group, list, text, toggle, wholeOr } from '../options.js';
import { deploymentFlags, listenFlags, serverFlags } from '../server-options.js';

const builder = (yargs: Argv) =>
  yargs
    .options({
      ...group('Workers', {
        worker: list('Worker to use; give it once per worker'),
        listen: text('Let workers join that register at this port; 0: any free port'),
        'max-gpus': wholeOr(1, 64, 'With --listen, GPUs that the cluster may have in all'),
        'min-workers': wholeOr(1, 1, 'Start with so many of them; the others join when they come'),
        standby: toggle('Leave the workers to another controller, and take them when it is gone'),
        'worker-token-file': text('File with the token that the workers require'),
        'worker-ca': text("Verify the workers' TLS certificates against this authority (PEM)"),
      }),
      ...group('Models', deploymentFlags),
      ...serverFlags,
      ...listenFlags,
    })
    .example([
      ['$0 controller --worker 10.0.0.1:8003 --worker 10.0.0.2:8003 --host 0.0.0.0', ''],
      ['$0 controller --listen 8004 --host 0.0.0.0', ''],
    ]);

export type ControllerArgs = ArgsOf<typeof builder>;

export const controller = {
  command: 'controller',
  describe: 'Serve models that workers on other machines run',
  builder,
};
