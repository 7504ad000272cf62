import type { Argv } from 'yargs';
import { ROLES } from '../../tools/doctor/check.js';
import { json, trustFlags } from '../common-options.js';
import { type ArgsOf, choiceOr, group, list, text, toggle } from '../options.js';
import { deviceFlags, machineFlags, runtimeFlags } from '../server-options.js';

const builder = (yargs: Argv) =>
  yargs
    .options({
      ...group('Machine', {
        role: choiceOr(ROLES, 'worker', 'What the machine is used for'),
        device: deviceFlags.device,
        memory: machineFlags.memory,
        peer: list("Compare clocks with another escapement's metrics port, e.g. http://10.0.0.2:8002"),
        'token-file': text('File with the token that those processes ask for'),
        ...trustFlags,
      }),
      ...runtimeFlags,
      ...group('Output', {
        json,
        'fix-script': toggle('Print a shell script that fixes what failed, for review'),
      }),
    })
    .example([
      ['$0 doctor', ''],
      ['$0 doctor --device cuda --memory 20GiB', ''],
      ['$0 doctor --role controller --peer http://10.0.0.2:8002', ''],
      ['$0 doctor --fix-script > fix.sh', ''],
    ])
    .epilogue('Each problem is listed with its cause and a fix. Exit code 6: a required check failed.');

export type DoctorArgs = ArgsOf<typeof builder>;

export const doctor = {
  command: 'doctor',
  describe: 'Check that this machine can give predictable latencies',
  builder,
};
