import type { Logger } from 'pino';
import { EscapementError } from '../base/errors.js';
import { NS_PER_S } from '../base/units.js';
import type { ServerSettings } from '../config/server-settings.js';
import { sharesLine } from '../config/tenant-shares.js';
import type { WorkerLink } from '../live/controller/link/worker-link.js';
import type { CertificateGauges } from '../live/observe/telemetry/gauges.js';
import { createLog } from '../live/observe/telemetry/log.js';
import type { RecordingControl } from '../live/recording/recording-control.js';
import { REAL_WORLD } from '../live/world/real-world.js';
import type { DeploymentOptions } from '../serve/deployment-options.js';
import type { JoiningOptions } from '../serve/joining.js';
import type { Server } from '../serve/server.js';
import type { ServerOptions } from '../serve/server-options.js';
import { checkPorts } from './check-ports.js';
import { EXIT_INTERRUPTED, exitCodeOf } from './exit-codes.js';
import { hintAtHost } from './host-hints.js';
import { untilStopped } from './interruption.js';
import { serverSettingsOf } from './live-settings.js';
import type { ValuesOf } from './options.js';
import { renewIdentity } from './renewal.js';
import { checkServerFlags } from './server-flags.js';
import type { listenFlags, serverFlags } from './server-options.js';
import { read, tokenOf } from './token.js';
import { packageVersion } from './version.js';

type ListenArgs = ValuesOf<typeof listenFlags>;
type ServerArgs = ListenArgs & ValuesOf<typeof serverFlags>;

/** The workers of a controller, which end with it. */
interface Workers {
  readonly links: readonly WorkerLink[];
  /** Default: all. */
  readonly minWorkers?: number;
  /** How others join; absent: none do. */
  readonly joining?: JoiningOptions;
  /** As in `ServerOptions`. */
  readonly deployment: DeploymentOptions;
  /** The server that they belong to listens. */
  readonly listening?: (certificates: CertificateGauges) => void;
}

/**
 * Runs a controller until SIGTERM or SIGINT; then drains it. Workers start after all flags were read, since starting
 * may take long.
 */
export async function runServer(
  role: string,
  args: ServerArgs,
  startWorkers: (settings: ServerSettings, log: Logger, hung: (what: string) => void) => Promise<Workers>,
): Promise<void> {
  // First of all: it also takes what Node warns of.
  const log = createLog(args['log-level'], role);
  const { startServer } = await import('../serve/server.js');
  const { checkThreads } = await import('../live/frontend/thread/frontend-threads.js');
  // Before models are read and measured, which takes long.
  checkThreads(args.frontends);
  checkServerFlags(args);
  const options = await serverOptions(args, log);
  const { 'http-port': http, 'grpc-port': grpc, 'metrics-port': metrics } = args;
  await checkPorts(args.host, { 'http-port': http, 'grpc-port': grpc, 'metrics-port': metrics });
  let server: Server | null = null;
  recordOnSignal(() => server?.recordings ?? null);
  const hung = (what: string) => void endHung(what, options.log, server);
  const workers = await startWorkers(options.settings, options.log, hung);
  try {
    // Before it is ready: a client that sees it ready may stop it at once.
    const stopped = untilStopped();
    const listening: ServerOptions['listening'] = (ports) => {
      const { certificates } = ports;
      renewIdentity(args, options.frontend.tls ?? null, options.log, certificates, (tls) => ports.renew(tls));
      workers.listening?.(certificates);
      hintAtHost(args.host, options.frontend.token ?? null, options.log);
    };
    const started = startServer({ ...options, ...workers, hung, listening });
    const first = await Promise.race([started, stopped]);
    if (typeof first === 'string') {
      const isWaiting = workers.joining !== undefined;
      options.log.info(`${first}: ends before ${isWaiting ? 'a worker has come' : 'it has started'}`);
      process.exit(isWaiting ? 0 : EXIT_INTERRUPTED);
    }
    server = first;
    // What ends the start ends the server; once it is over, only a signal does.
    const signal = await Promise.race([server.started.then(() => stopped), stopped]);
    await server.close(args.drain, args['drain-notice'], signal);
  } finally {
    await server?.close(0);
  }
}

/**
 * Ends the process, whose supervisor starts it again: a thread that hangs neither goes on nor can be ended. Requests of other
 * threads get their answers before, if that takes no time.
 */
async function endHung(what: string, log: Logger, server: Server | null): Promise<never> {
  const error = new EscapementError('E_HUNG', `${what}; the server ends, to be started again`);
  log.fatal({ code: error.code }, error.message);
  const giveUp = new Promise((resolve) => setTimeout(resolve, HUNG_CLOSE_MS));
  await Promise.race([server?.close(HUNG_DRAIN_NS), giveUp]).catch(() => {});
  process.exit(exitCodeOf(error));
}

const HUNG_DRAIN_NS = NS_PER_S;
const HUNG_CLOSE_MS = 3000;

/** SIGUSR2 starts recording a timeline, the next one writes it; the log says so. SIGUSR1 is Node's own. */
function recordOnSignal(control: () => RecordingControl | null): void {
  // Windows has no such signal.
  if (process.platform === 'win32') return;
  process.on('SIGUSR2', () => {
    // The log also reports errors.
    toggle(control()).catch(() => {});
  });
}

async function toggle(recordings: RecordingControl | null): Promise<void> {
  if (recordings?.recording) await recordings.stop();
  else recordings?.start('all');
}

async function serverOptions(
  args: ServerArgs,
  log: Logger,
): Promise<Omit<ServerOptions, 'links' | 'deployment' | 'hung'>> {
  const settings = await serverSettingsOf(args, (warning) => log.warn(warning));
  const shares = sharesLine(settings.tenants.list);
  if (shares !== null) log.info(shares);
  return {
    world: REAL_WORLD,
    settings,
    host: args.host,
    httpPort: args['http-port'],
    grpcPort: args['grpc-port'],
    metricsPort: args['metrics-port'],
    ui: args.ui,
    frontend: {
      token: await tokenOf(args),
      tls: await tlsOf(args),
      maxBodyBytes: args['max-body'],
      maxJsonBytes: args['max-json'],
      ...(args['max-inflight'] === undefined ? {} : { maxInflightBytes: args['max-inflight'] }),
      maxConnections: args['max-connections'],
      maxClientRequests: args['max-client-requests'],
      cors: args.cors ?? null,
      maxBatch: args['max-batch'],
    },
    frontends: args.frontends,
    journal: args.journal ?? null,
    journalKeepBytes: args['journal-keep'],
    serverVersion: packageVersion(),
    log,
  };
}

export async function tlsOf(args: ListenArgs): Promise<{ cert: Buffer; key: Buffer } | null> {
  const { 'tls-cert': cert, 'tls-key': key } = args;
  if (cert === undefined && key === undefined) return null;
  if (cert === undefined || key === undefined) {
    throw new EscapementError('E_USAGE', '--tls-cert and --tls-key must be given together');
  }
  return { cert: await read(cert, 'tls-cert'), key: await read(key, 'tls-key') };
}
