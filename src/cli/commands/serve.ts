import type { Argv } from 'yargs';
import type { ArgsOf } from '../options.js';
import { deploymentFlags, listenFlags, machineFlags, serverFlags } from '../server-options.js';

const builder = (yargs: Argv) =>
  yargs
    .options({ ...machineFlags, ...deploymentFlags, ...serverFlags, ...listenFlags })
    .example([
      ['$0 serve --repository models', ''],
      ['$0 serve --repository models --set slo=200ms --journal run.journal', ''],
      ['$0 serve --device simulated:profile.json --gpus 100 --copies 50', ''],
    ])
    .epilogue('Runtime settings and their environment variables: escapement keys runtime');

export type ServeArgs = ArgsOf<typeof builder>;

export const serve = {
  command: 'serve',
  describe: 'Serve models over HTTP and gRPC (Open Inference Protocol)',
  builder,
};
