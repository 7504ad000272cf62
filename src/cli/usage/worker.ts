import { group, list, portOr, text } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { listenFlags, machineFlags, runtimeFlags } from './server.js';

export const usage = usageOf({
  flags: {
    ...machineFlags,
    ...group('Models and GPUs', {
      kind: text(
        'NAME',
        'What GPUs like these are called, e.g. t4: each kind has times of its own',
        'that of --device: cpu, cuda, … or simulated',
      ),
    }),
    ...runtimeFlags,
    ...group('Network', {
      port: portOr('8003', 'Port for the controller; 0: any free port'),
      controller: list(
        'HOST:PORT',
        'Register at the --listen port of this controller; give it once per controller and standby',
      ),
      advertise: text(
        'HOST:PORT',
        'With --controller, where controllers reach this worker',
        'the address that it connects from, and its port',
      ),
    }),
    ...listenFlags,
    ...group('Security', {
      'controller-ca': text('FILE', "Verify the controllers' TLS certificates against this authority (PEM)"),
    }),
  },
  examples: [
    'worker --repository models --device cuda --gpus 4 --host 0.0.0.0',
    'worker --repository models --host 0.0.0.0 --controller 10.0.0.9:8004',
  ],
  notes: ['Runtime settings and their environment variables: escapement keys runtime'],
});

export type WorkerArgs = ArgsOf<typeof usage>;
