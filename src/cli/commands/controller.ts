import type { Argv } from 'yargs';
import { EscapementError } from '../../core/errors.js';
import { manyValues, oneValue } from '../args.js';
import { listenFlags, read, runServer, serverFlags } from '../server-flags.js';

/** `escapement controller --worker HOST:PORT …`: the scheduler and the doors, for workers on other machines. */
export function controllerCommand(cli: Argv): void {
  cli.command(
    'controller',
    'Serve models that workers on other machines run',
    (command) =>
      command
        .options({
          worker: manyValues({ describe: 'Worker to use, HOST:PORT; once for each' }),
          'worker-token-file': oneValue({ describe: 'File with the token that the workers ask for' }),
          'worker-ca': oneValue({
            describe: "Check the workers' TLS certificates against this authority (PEM)",
          }),
          ...serverFlags,
          ...listenFlags,
        })
        .example('$0 controller --worker 10.0.0.1:8003 --worker 10.0.0.2:8003 --host 0.0.0.0', ''),
    async (args) => {
      if (args.worker.length === 0) {
        throw new EscapementError('E_USAGE', '--worker HOST:PORT is missing: name at least one');
      }
      checkSettings(args.set);
      const { RemoteWorker } = await import('../../live/transport/remote-worker.js');
      const { 'worker-token-file': tokenFile, 'worker-ca': caFile } = args;
      const token =
        tokenFile === undefined
          ? {}
          : { token: (await read(tokenFile, 'worker-token-file')).toString('utf8').trim() };
      const tls = caFile === undefined ? {} : { tls: { ca: await read(caFile, 'worker-ca') } };
      const links = args.worker.map(
        (address) =>
          new RemoteWorker({
            address,
            ...token,
            ...tls,
            log: (line) => process.stderr.write(`controller: ${line}\n`),
          }),
      );
      await runServer('controller', args, async () => ({ links, close: async () => {} }));
    },
  );
}

/** What workers do with models is for their own flags to say. */
function checkSettings(overrides: readonly string[]): void {
  const foreign = overrides.find((override) => /^\s*runtime\.(?!profiler)/.test(override));
  if (foreign === undefined) return;
  throw new EscapementError(
    'E_USAGE',
    `--set ${foreign}: a controller runs no models, so give it to its workers`,
  );
}
