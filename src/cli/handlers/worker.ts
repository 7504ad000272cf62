import { EscapementError } from '../../base/errors.js';
import { isKindName } from '../../live/gpu-kind.js';
import { createLog } from '../../live/observe/telemetry/log.js';
import { checkAddress } from '../../live/wire/address.js';
import { clientCredentials } from '../../live/wire/credentials.js';
import { REAL_WORLD } from '../../live/world/real-world.js';
import { checkPorts } from '../check-ports.js';
import type { WorkerArgs } from '../commands/worker.js';
import { hintAtHost } from '../host-hints.js';
import { untilStopped } from '../interruption.js';
import { runtimeOf } from '../live-settings.js';
import { workerMachine } from '../machine.js';
import { renewAuthority, renewIdentity } from '../renewal.js';
import { tlsOf } from '../run-server.js';
import { read, tokenOf } from '../token.js';

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
  const joining = await joiningOf(args);
  await checkPorts(args.host, { port, 'metrics-port': args['metrics-port'] });
  const worker = await runWorker({
    world: REAL_WORLD,
    machine: { ...(await workerMachine(args, runtime, say)), ...kindOf(args) },
    host: args.host,
    port,
    metricsPort: args['metrics-port'],
    ...(token === null ? {} : { token }),
    ...(tls === null ? {} : { tls }),
    ...joining,
    log,
  });
  // Would end the process otherwise.
  if (process.platform !== 'win32')
    process.on('SIGUSR2', () => say('the controller records timelines; send the signal there'));
  renewIdentity(args, tls, log, worker.certificates, (identity) => worker.renew(identity));
  const { 'controller-ca': path } = args;
  if (path !== undefined && joining.controllerTls !== undefined) {
    const authority = { flag: '--controller-ca', path, ca: joining.controllerTls.ca } as const;
    renewAuthority(authority, log, worker.certificates, (ca) => {
      clientCredentials({ ca }, 'controller');
      worker.trust({ ca });
    });
  }
  hintAtHost(args.host, token, log);
  log.info(`${await untilStopped()}: takes no more actions`);
  await worker.close();
}

/** Throws `E_USAGE`. */
function kindOf({ kind }: WorkerArgs): { readonly kind?: string } {
  if (kind === undefined) return {};
  if (isKindName(kind)) return { kind };
  throw new EscapementError('E_USAGE', `--kind ${kind}: write a name of letters, digits, _ and -, e.g. t4`);
}

interface Joining {
  readonly controllers: readonly string[];
  readonly advertised?: string;
  readonly controllerTls?: { readonly ca: Buffer };
}

/** Where it registers, and how. Throws `E_USAGE` and `E_TLS`. */
async function joiningOf({ controller, advertise, 'controller-ca': caFile }: WorkerArgs): Promise<Joining> {
  if (controller.length === 0 && (advertise !== undefined || caFile !== undefined)) {
    const flag = advertise === undefined ? '--controller-ca' : '--advertise';
    throw new EscapementError('E_USAGE', `${flag} is for workers that register: name a --controller, too`);
  }
  const controllers = controller.map((address) => checkAddress(address, 'controller'));
  const advertised = advertise === undefined ? {} : { advertised: checkAddress(advertise) };
  if (caFile === undefined) return { controllers, ...advertised };
  const controllerTls = { ca: await read(caFile, 'controller-ca') };
  clientCredentials(controllerTls, 'controller');
  return { controllers, ...advertised, controllerTls };
}
