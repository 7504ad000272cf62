import type { Argv } from 'yargs';
import { oneValueOr, wholeNumber } from '../args.js';
import { machineFlags, machineOptions } from '../machine-flags.js';
import { listenFlags, portOf, tlsOf, tokenOf, untilStopped } from '../server-flags.js';

/** `escapement worker`: the GPUs of one machine, for a controller elsewhere. */
export function workerCommand(cli: Argv): void {
  cli.command(
    'worker',
    'Run models on the GPUs of this machine for a controller',
    (command) =>
      command
        .options({
          port: oneValueOr('8003', 'Port for the controller; 0: any free one'),
          ...machineFlags,
          ...listenFlags,
        })
        .example('$0 worker --repository models --device cuda --gpus 4 --host 0.0.0.0', ''),
    async (args) => {
      const { runWorker } = await import('../../serving/worker.js');
      const say = (what: string) => process.stderr.write(`worker: ${what}\n`);
      const [token, tls] = [await tokenOf(args), await tlsOf(args)];
      const stop = await runWorker({
        machine: await machineOptions(args, say),
        host: args.host,
        port: wholeNumber(args.port, 'port', 0),
        metricsPort: portOf(args['metrics-port'], 'metrics-port'),
        ...(token === null ? {} : { token }),
        ...(tls === null ? {} : { tls }),
        logLevel: args['log-level'],
      });
      await untilStopped();
      await stop();
    },
  );
}
