import type { Argv } from 'yargs';
import { EscapementError } from '../../core/errors.js';
import { oneValueOr } from '../args.js';
import { runtimeOf } from '../live-settings.js';
import { machineFlags, machineOptions } from '../machine-flags.js';
import { runtimeFlags } from '../runtime-flags.js';
import { runtimeHelp } from '../runtime-help.js';
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
          ...runtimeFlags,
          ...listenFlags,
        })
        .example('$0 worker --repository models --device cuda --gpus 4 --host 0.0.0.0', '')
        .epilogue(runtimeHelp()),
    async (args) => {
      const { runWorker } = await import('../../serving/worker.js');
      const runtime = await runtimeOf(args);
      const say = (what: string) => process.stderr.write(`worker: ${what}\n`);
      const [token, tls] = [await tokenOf(args), await tlsOf(args)];
      const port = portOf(args.port, 'port');
      if (port === null) throw new EscapementError('E_USAGE', '--port off: a worker needs one');
      const metricsPort = portOf(args['metrics-port'], 'metrics-port');
      const stop = await runWorker({
        machine: await machineOptions(args, runtime, say),
        host: args.host,
        port,
        metricsPort,
        ...(token === null ? {} : { token }),
        ...(tls === null ? {} : { tls }),
        logLevel: args['log-level'],
      });
      // Would end the process otherwise.
      if (process.platform !== 'win32')
        process.on('SIGUSR2', () => say('the controller records timelines: send the signal to it'));
      await untilStopped();
      await stop();
    },
  );
}
