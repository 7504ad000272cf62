import { ROLES } from '../../tools/doctor/check.js';
import { choiceOr, group, list, text, toggle } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json, trustFlags } from './common.js';
import { deviceFlags, machineFlags, runtimeFlags } from './server.js';

export const usage = usageOf({
  flags: {
    ...group('Machine', {
      role: choiceOr(ROLES, 'worker', 'What the machine is used for'),
      device: deviceFlags.device,
      memory: machineFlags.memory,
      peer: list('URL', "Compare clocks with another escapement's metrics port, e.g. http://10.0.0.2:8002"),
      'token-file': text('FILE', 'File with the token that those processes ask for'),
      ...trustFlags,
    }),
    ...runtimeFlags,
    ...group('Output', {
      json,
      'fix-script': toggle('Print a shell script that fixes what failed, for review'),
    }),
  },
  examples: [
    'doctor',
    'doctor --device cuda --memory 20GiB',
    'doctor --role controller --peer http://10.0.0.2:8002',
    'doctor --fix-script > fix.sh',
  ],
  notes: ['Each problem is listed with its cause and a fix. Exit code 6: a required check failed.'],
});

export type DoctorArgs = ArgsOf<typeof usage>;
