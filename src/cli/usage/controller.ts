import { group, list, text, toggle, wholeOr } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { deploymentFlags, listenFlags, serverFlags } from './server.js';

export const usage = usageOf({
  flags: {
    ...group('Workers', {
      worker: list('HOST:PORT', 'Worker to use; give it once per worker'),
      listen: text('[HOST:]PORT', 'Let workers join that register at this port; 0: any free port'),
      'max-gpus': wholeOr(1, 64, 'With --listen, GPUs that the cluster may have in all'),
      'min-workers': wholeOr(1, 1, 'Start with so many of them; the others join when they come'),
      standby: toggle('Leave the workers to another controller, and take them when it is gone'),
      'worker-token-file': text('FILE', 'File with the token that the workers require'),
      'worker-ca': text('FILE', "Verify the workers' TLS certificates against this authority (PEM)"),
    }),
    ...group('Models', deploymentFlags),
    ...serverFlags,
    ...listenFlags,
  },
  examples: [
    'controller --worker 10.0.0.1:8003 --worker 10.0.0.2:8003 --host 0.0.0.0',
    'controller --listen 8004 --host 0.0.0.0',
  ],
});

export type ControllerArgs = ArgsOf<typeof usage>;
