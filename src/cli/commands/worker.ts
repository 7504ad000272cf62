import type { Argv } from 'yargs';
import { type ArgsOf, group, list, portOr, text } from '../options.js';
import { listenFlags, machineFlags, runtimeFlags } from '../server-options.js';

const builder = (yargs: Argv) =>
  yargs
    .options({
      ...machineFlags,
      ...group('Models and GPUs', {
        kind: text(
          'What GPUs like these are called, e.g. t4: each kind has times of its own',
          'that of --device: cpu, cuda, … or simulated',
        ),
      }),
      ...runtimeFlags,
      ...group('Network', {
        port: portOr('8003', 'Port for the controller; 0: any free port'),
        controller: list(
          'Register at the --listen port of this controller; give it once per controller and standby',
        ),
        advertise: text(
          'With --controller, where controllers reach this worker',
          'the address that it connects from, and its port',
        ),
      }),
      ...listenFlags,
      ...group('Security', {
        'controller-ca': text("Verify the controllers' TLS certificates against this authority (PEM)"),
      }),
    })
    .example([
      ['$0 worker --repository models --device cuda --gpus 4 --host 0.0.0.0', ''],
      ['$0 worker --repository models --host 0.0.0.0 --controller 10.0.0.9:8004', ''],
    ])
    .epilogue('Runtime settings and their environment variables: escapement keys runtime');

export type WorkerArgs = ArgsOf<typeof builder>;

export const worker = {
  command: 'worker',
  describe: 'Run models on the GPUs of this machine for a controller',
  builder,
};
