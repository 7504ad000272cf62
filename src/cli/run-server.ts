import type { Logger } from 'pino';
import { EscapementError } from '../base/errors.js';
import { NS_PER_S } from '../base/units.js';
import { sharesLine } from '../config/policy-notes.js';
import { readServerSettings, type ServerSettings } from '../config/server-settings.js';
import { formatBytes } from '../config/units-text.js';
import type { WorkerLink } from '../live/controller/link/worker-link.js';
import { defaultInflightBytes } from '../live/frontend/limits.js';
import type { CertificateGauges } from '../live/observe/telemetry/certificates.js';
import { createLog } from '../live/observe/telemetry/log.js';
import { REAL_WORLD } from '../live/world/real-world.js';
import type { DeploymentOptions } from '../serve/deployment-options.js';
import type { JoiningOptions } from '../serve/joining.js';
import type { Server } from '../serve/server.js';
import type { ServerOptions } from '../serve/server-options.js';
import { EXIT_INTERRUPTED, exitCodeOf } from './exit-codes.js';
import { untilStopped } from './interruption.js';
import { checkPorts, hintAtHost } from './listening.js';
import { settingsOf } from './live-settings.js';
import { usageError, type ValuesOf } from './options.js';
import { renewIdentity } from './renewal.js';
import type { listenFlags, serverFlags } from './server-options.js';
import { tlsOf } from './token.js';
import { packageVersion } from './version.js';

type ServerArgs = ValuesOf<typeof listenFlags> & ValuesOf<typeof serverFlags>;

/** Context for starting workers. */
interface Surroundings {
  readonly log: Logger;
  readonly world: typeof REAL_WORLD;
  /** Called when a thread hangs; ends the process. */
  readonly hung: (what: string) => void;
}

/** Workers of a controller, which end with it. */
interface Workers {
  readonly links: readonly WorkerLink[];
  /** Default: all. */
  readonly minWorkers?: number;
  /** Options for joining workers; absent: none can join. */
  readonly joining?: JoiningOptions;
  /** As in `ServerOptions`. */
  readonly deployment: DeploymentOptions;
  /** Called when their server listens. */
  readonly listening?: (certificates: CertificateGauges) => void;
}

/**
 * Runs a controller until SIGTERM or SIGINT, then drains it. Workers start after all flags are read, since that may
 * take long.
 */
export async function runServer(
  role: string,
  args: ServerArgs,
  startWorkers: (settings: ServerSettings, surroundings: Surroundings) => Promise<Workers>,
): Promise<void> {
  // Comes first: the log also takes Node's warnings.
  const log = createLog(args['log-level'], role);
  const { startServer } = await import('../serve/server.js');
  const { checkThreads } = await import('../live/frontend/thread/frontend-threads.js');
  // Precedes reading and measuring models, which takes long.
  checkThreads(args.frontends);
  checkServerFlags(args);
  const options = await serverOptions(args, log);
  const { 'http-port': http, 'grpc-port': grpc, 'metrics-port': metrics } = args;
  await checkPorts(args.host, { 'http-port': http, 'grpc-port': grpc, 'metrics-port': metrics });
  let server: Server | null = null;
  const hung = (what: string) => void endHung(what, log, server);
  const workers = await startWorkers(options.settings, { log, world: REAL_WORLD, hung });
  try {
    // Must precede readiness: a client that sees the server ready may stop it at once.
    const stopped = untilStopped();
    const listening: ServerOptions['listening'] = (ports) => {
      const { certificates } = ports;
      const reports = { log, gauges: certificates };
      renewIdentity(args, reports, (tls) => ports.renew(tls));
      workers.listening?.(certificates);
      hintAtHost(args.host, options.frontend.token ?? null, log);
    };
    const started = startServer({ ...options, ...workers, hung, listening });
    const first = await Promise.race([started, stopped]);
    if (typeof first === 'string') {
      const isWaiting = workers.joining !== undefined;
      log.info(`${first}: ends before ${isWaiting ? 'a worker has connected' : 'it has started'}`);
      process.exit(isWaiting ? 0 : EXIT_INTERRUPTED);
    }
    server = first;
    // Errors during startup end the server; afterwards only a signal does.
    const signal = await Promise.race([server.started.then(() => stopped), stopped]);
    await server.close(args.drain, args['drain-notice'], signal);
  } finally {
    await server?.close(0);
  }
}

/**
 * Ends the process, for its supervisor to restart: a hung thread can neither continue nor be ended. Requests of other
 * threads are answered first, if that is quick.
 */
async function endHung(what: string, log: Logger, server: Server | null): Promise<never> {
  const error = new EscapementError('E_HUNG', `${what}; the server ends so that its supervisor restarts it`);
  log.fatal({ code: error.code }, error.message);
  const giveUp = new Promise((resolve) => setTimeout(resolve, HUNG_CLOSE_MS));
  await Promise.race([server?.close(HUNG_DRAIN_NS), giveUp]).catch(() => {});
  process.exit(exitCodeOf(error));
}

const HUNG_DRAIN_NS = NS_PER_S;
const HUNG_CLOSE_MS = 3000;

async function serverOptions(
  args: ServerArgs,
  log: Logger,
): Promise<Omit<ServerOptions, 'links' | 'deployment' | 'hung'>> {
  const settings = await settingsOf(readServerSettings, args, (warning) => log.warn(warning));
  const shares = sharesLine(settings.tenants.list);
  if (shares !== null) log.info(shares);
  return {
    world: REAL_WORLD,
    settings,
    host: args.host,
    httpPort: args['http-port'],
    grpcPort: args['grpc-port'],
    metricsPort: args['metrics-port'],
    metricsModels: args['metrics-models'],
    ui: args.ui,
    frontend: {
      token: args['token-file']?.token ?? null,
      tls: tlsOf(args),
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
    otlp: args.otlp && { url: args.otlp, sample: args['otlp-sample'] },
    serverVersion: packageVersion(),
    log,
  };
}

/** Throws `E_USAGE` for flags that a server could not act on. */
function checkServerFlags(args: ServerArgs): void {
  if (args.ui && args['metrics-port'] === null)
    throw usageError('--ui: its page is on the metrics port: leave out --metrics-port off');
  const { 'max-body': body, 'max-inflight': inflight = defaultInflightBytes() } = args;
  const { 'max-batch': batch, 'max-client-requests': requests } = args;
  if (body > inflight) {
    const limit = `--max-inflight (${formatBytes(inflight)})`;
    throw usageError(`--max-body ${formatBytes(body)}: ${tooLarge(limit, 'body')}`);
  }
  if (requests !== null && batch > requests)
    throw usageError(`--max-batch ${batch}: ${tooLarge(`--max-client-requests (${requests})`, 'batch')}`);
  for (const origin of args.cors?.split(',') ?? []) checkOrigin(origin.trim());
}

function tooLarge(limit: string, what: string): string {
  return `larger than ${limit}, which would refuse such a ${what}: lower the one or raise the other`;
}

/** Rejects origins that never match: browsers send scheme, host and any non-default port. */
function checkOrigin(text: string): void {
  if (text === '*') return;
  const url = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s]+$/i.test(text) && URL.canParse(text) ? new URL(text) : null;
  // Only web schemes have such a form.
  const sent = url === null || url.origin === 'null' ? text : url.origin;
  if (url !== null && sent === text) return;
  const hint = url === null ? 'must be an origin such as https://app.example.com, or *' : `write ${sent}`;
  throw usageError(`--cors ${text}: ${hint}`);
}
