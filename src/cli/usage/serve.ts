import { type ArgsOf, usageOf } from '../usage.js';
import { deploymentFlags, listenFlags, machineFlags, serverFlags } from './server.js';

export const usage = usageOf({
  flags: { ...machineFlags, ...deploymentFlags, ...serverFlags, ...listenFlags },
  examples: [
    'serve --repository models',
    'serve --repository models --set slo=200ms --journal run.journal',
    'serve --device simulated:profile.json --gpus 100 --copies 50',
  ],
  notes: ['Runtime settings and their environment variables: escapement keys runtime'],
});

export type ServeArgs = ArgsOf<typeof usage>;
