import { readFile } from 'node:fs/promises';
import type { Options } from 'yargs';
import { EscapementError } from '../core/errors.js';
import { fileProblem } from '../experiment/files.js';
import type { ServerSettings } from '../experiment/server-settings.js';
import { parseBytes, parseDuration } from '../experiment/units-text.js';
import type { ProfileControl } from '../live/profiler/profile-control.js';
import { createLog, LOG_LEVELS, type LogLevel } from '../live/telemetry/log.js';
import type { WorkerLink } from '../live/worker-link.js';
import type { Server, ServerOptions } from '../serving/server.js';
import { manyValues, oneValue, oneValueOr, wholeNumber } from './args.js';
import { EXIT_INTERRUPTED } from './exit-codes.js';
import { serverSettingsOf } from './live-settings.js';
import { packageVersion } from './version.js';

/** Flags of every process that listens. */
export const listenFlags = {
  host: oneValueOr('127.0.0.1', 'Address to listen on; 0.0.0.0 is every network'),
  'metrics-port': oneValueOr('8002', 'Port of /metrics for Prometheus; off: none'),
  'token-file': oneValue({ describe: 'File with the token that clients must show' }),
  'tls-cert': oneValue({ describe: "This server's certificate (PEM); with --tls-key" }),
  'tls-key': oneValue({ describe: 'Its private key (PEM)' }),
  'log-level': {
    choices: LOG_LEVELS,
    default: 'info' as LogLevel,
    describe: 'Least level of the log, JSON lines on stderr',
  },
} satisfies Record<string, Options>;

/** Flags of whatever runs a controller: `serve` and `controller`. */
export const serverFlags = {
  experiment: oneValue({
    describe: 'Experiment file that it was tuned with: its slo, policy, admission and runtime',
  }),
  set: manyValues({ describe: 'Override one of those, e.g. --set policy.scheduleAhead=5ms' }),
  'http-port': oneValueOr('8000', 'Port for HTTP; off: none, 0: any free one'),
  'grpc-port': oneValueOr('8001', 'Port for gRPC; off: none, 0: any free one'),
  journal: oneValue({ describe: 'Write all that enters the scheduler to this file, for replay' }),
  'max-body': oneValueOr('64MiB', 'Largest request'),
  drain: oneValueOr('30s', 'How long SIGTERM lets requests finish'),
} satisfies Record<string, Options>;

export interface ListenArgs {
  readonly host: string;
  readonly 'metrics-port': string;
  readonly 'token-file': string | undefined;
  readonly 'tls-cert': string | undefined;
  readonly 'tls-key': string | undefined;
  readonly 'log-level': LogLevel;
}

export interface ServerArgs extends ListenArgs {
  readonly experiment: string | undefined;
  readonly set: readonly string[];
  readonly 'http-port': string;
  readonly 'grpc-port': string;
  readonly journal: string | undefined;
  readonly 'max-body': string;
  readonly drain: string;
}

const START_TIMEOUT = '60s';
const HANG = '10s';
const IMPATIENT_MS = 1000;

/** The workers of a controller. */
export interface Workers {
  readonly links: readonly WorkerLink[];
  close(): Promise<void>;
}

/**
 * Runs a controller until SIGTERM or SIGINT; then drains it. The workers are started when all flags were read: that
 * may take long.
 */
export async function runServer(
  role: string,
  args: ServerArgs,
  startWorkers: (settings: ServerSettings) => Promise<Workers>,
): Promise<void> {
  const { startServer } = await import('../serving/server.js');
  const options = await serverOptions(role, args);
  const drainNs = durationOf(args.drain, 'drain');
  let server: Server | null = null;
  recordOnSignal(() => server?.profiler ?? null);
  const workers = await startWorkers(options.settings);
  try {
    server = await startServer({ ...options, links: workers.links });
    await untilStopped();
    await server.close(drainNs);
  } finally {
    await server?.close(0);
    await workers.close();
  }
}

/** SIGUSR2 starts recording a timeline, the next one writes it; the log tells. SIGUSR1 is Node's own. */
function recordOnSignal(control: () => ProfileControl | null): void {
  // There is no such signal.
  if (process.platform === 'win32') return;
  process.on('SIGUSR2', () => {
    // The log tells what goes wrong, too.
    toggle(control()).catch(() => {});
  });
}

async function toggle(profiler: ProfileControl | null): Promise<void> {
  if (profiler?.recording) await profiler.stop();
  else profiler?.start('all');
}

async function serverOptions(role: string, args: ServerArgs): Promise<Omit<ServerOptions, 'links'>> {
  return {
    settings: await serverSettingsOf(args),
    host: args.host,
    httpPort: portOf(args['http-port'], 'http-port'),
    grpcPort: portOf(args['grpc-port'], 'grpc-port'),
    metricsPort: portOf(args['metrics-port'], 'metrics-port'),
    door: {
      token: await tokenOf(args),
      tls: await tlsOf(args),
      maxBodyBytes: bytesOf(args['max-body'], 'max-body'),
    },
    journal: args.journal ?? null,
    startTimeoutNs: parseDuration(START_TIMEOUT),
    hangNs: parseDuration(HANG),
    serverVersion: packageVersion(),
    log: createLog(args['log-level'], role),
  };
}

/**
 * Resolves at the first SIGTERM or SIGINT. Another one ends the process at once, but not within a second: shells and
 * process managers often send the first to the whole group and once more to the process.
 */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    let first: number | null = null;
    const stop = () => {
      first ??= performance.now();
      resolve();
      if (performance.now() - first > IMPATIENT_MS) process.exit(EXIT_INTERRUPTED);
    };
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
  });
}

/** A port number, or null for `off`. Throws `E_USAGE`. */
export function portOf(text: string, flag: string): number | null {
  if (text === 'off') return null;
  const port = wholeNumber(text, flag, 0);
  if (port > 65_535) throw new EscapementError('E_USAGE', `--${flag} ${text}: ports end at 65535`);
  return port;
}

export async function tokenOf({ 'token-file': path }: ListenArgs): Promise<string | null> {
  if (path === undefined) return null;
  const token = (await read(path, 'token-file')).toString('utf8').trim();
  if (token === '') throw new EscapementError('E_USAGE', `--token-file ${path}: the file is empty`);
  return token;
}

export async function tlsOf(args: ListenArgs): Promise<{ cert: Buffer; key: Buffer } | null> {
  const { 'tls-cert': cert, 'tls-key': key } = args;
  if (cert === undefined && key === undefined) return null;
  if (cert === undefined || key === undefined) {
    throw new EscapementError('E_USAGE', '--tls-cert and --tls-key belong together: give both');
  }
  return { cert: await read(cert, 'tls-cert'), key: await read(key, 'tls-key') };
}

export function read(path: string, flag: string): Promise<Buffer> {
  return readFile(path).catch((error) => Promise.reject(fileProblem(error, path, { key: `--${flag}` })));
}

function durationOf(text: string, flag: string): number {
  try {
    return parseDuration(text);
  } catch {
    throw new EscapementError('E_USAGE', `--${flag} ${text}: write a duration such as 30s`);
  }
}

function bytesOf(text: string, flag: string): number {
  try {
    return parseBytes(text);
  } catch {
    throw new EscapementError('E_USAGE', `--${flag} ${text}: write a size such as 64MiB`);
  }
}
