import { group, portOr } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { listenFlags, machineFlags, runtimeFlags } from './server.js';

export const usage = usageOf({
  flags: {
    ...machineFlags,
    ...runtimeFlags,
    ...group('Network', { port: portOr('8003', 'Port for the controller; 0: any free port') }),
    ...listenFlags,
  },
  examples: ['worker --repository models --device cuda --gpus 4 --host 0.0.0.0'],
  notes: ['Runtime settings and their environment variables: escapement keys runtime'],
});

export type WorkerArgs = ArgsOf<typeof usage>;
