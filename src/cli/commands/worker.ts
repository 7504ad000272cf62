import type { Argv } from 'yargs';
import { EscapementError } from '../../core/errors.js';
import { oneValueOr } from '../args.js';
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
      const port = portOf(args.port, 'port');
      if (port === null) throw new EscapementError('E_USAGE', '--port off: a worker needs one');
      const metricsPort = portOf(args['metrics-port'], 'metrics-port');
      const stop = await runWorker({
        machine: await machineOptions(args, say),
        host: args.host,
        port,
        metricsPort,
        ...(token === null ? {} : { token }),
        ...(tls === null ? {} : { tls }),
        logLevel: args['log-level'],
      });
      await untilStopped();
      await stop();
    },
  );
}
