import { EscapementError } from '../../base/errors.js';
import { createLog } from '../../live/observe/telemetry/log.js';
import { checkPorts } from '../check-ports.js';
import { hintAtHost } from '../host-hints.js';
import { untilStopped } from '../interruption.js';
import { runtimeOf } from '../live-settings.js';
import { workerMachine } from '../machine.js';
import { renewIdentity } from '../renewal.js';
import { tlsOf } from '../run-server.js';
import { tokenOf } from '../token.js';
import type { WorkerArgs } from '../usage/worker.js';

/** `escapement worker`: the GPUs of one machine, for a controller elsewhere. */
export async function run(args: WorkerArgs): Promise<void> {
  // First of all: it also takes what Node warns of.
  const log = createLog(args['log-level'], 'worker');
  const { runWorker } = await import('../../serve/worker.js');
  const runtime = await runtimeOf(args, (warning) => log.warn(warning));
  const say = (what: string) => log.info(what);
  const [token, tls] = [await tokenOf(args), await tlsOf(args)];
  const { port } = args;
  if (port === null) throw new EscapementError('E_USAGE', '--port off: a worker needs a port');
  await checkPorts(args.host, { port, 'metrics-port': args['metrics-port'] });
  const worker = await runWorker({
    machine: await workerMachine(args, runtime, say),
    host: args.host,
    port,
    metricsPort: args['metrics-port'],
    ...(token === null ? {} : { token }),
    ...(tls === null ? {} : { tls }),
    log,
  });
  // Would end the process otherwise.
  if (process.platform !== 'win32')
    process.on('SIGUSR2', () => say('the controller records timelines; send the signal there'));
  renewIdentity(args, tls, log, (identity) => worker.renew(identity));
  hintAtHost(args.host, token, log);
  log.info(`${await untilStopped()}: takes no more actions`);
  await worker.close();
}
