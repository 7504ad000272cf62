import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { request as requestTls } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../../free-ports.js';
import { madeUpProfile } from '../../../made-up-profile.js';
import { selfSigned } from '../../../self-signed.js';
import { commandOf, MeasuredProcess } from '../processes.js';
import { LARGE, OUTPUT_ELEMENTS, type Setting, SMALL, type Target } from './target.js';

/** Seen from the bundle in out/bench. */
const PROXY = fileURLToPath(new URL('../../deploy/haproxy.cfg', import.meta.url));

/** The allocator of the container image, where it is installed. */
const IMAGE_ENV = {
  LD_PRELOAD: 'libjemalloc.so.2',
  MALLOC_CONF: 'background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0',
};

/** How a server runs. `proxy`: HAProxy stands in front of it. */
interface AttackedOptions {
  readonly nice: number;
  readonly proxy: boolean;
  /** Frontend threads of each transport. */
  readonly frontends: number;
}

/** A server of real processes on free ports, with a simulated device. */
export class AttackedServer {
  /** Peak of all processes together, bytes. */
  worstBytes = 0;
  private readonly sampling: NodeJS.Timeout;

  private constructor(
    readonly target: Target,
    private readonly processes: readonly MeasuredProcess[],
    private readonly folder: string,
    private readonly said: { text: string },
  ) {
    this.sampling = setInterval(() => {
      this.worstBytes = Math.max(this.worstBytes, this.rssBytes);
    }, 50);
  }

  /** Starts the command line `main` and waits until it is ready. */
  static async start(
    main: string,
    setting: Setting,
    { nice, proxy, frontends }: AttackedOptions = { nice: 0, proxy: false, frontends: 1 },
  ): Promise<AttackedServer> {
    const folder = mkdtempSync(join(tmpdir(), 'escapement-'));
    const isCluster = setting === 'cluster-token';
    const [http, grpc, metrics, port, workerMetrics] = await freePorts(5);
    const token = setting === 'token' || isCluster ? 'a-token' : null;
    const target: Target = {
      ...{ http, grpc, metrics, token },
      worker: isCluster ? port : 0,
      tls: setting === 'tls',
      size: 1,
    };
    const said = { text: '' };
    const run = (args: readonly string[]) => spawnServer(main, nice, args, said);
    // The proxy ends TLS.
    const secret = secrets(folder, { token, tls: target.tls && !proxy });
    const device = ['--device', `simulated:${profiles(folder)}`];
    const ports = [
      ...['--http-port', `${http}`, '--grpc-port', `${grpc}`, '--metrics-port', `${metrics}`],
      ...['--frontends', `${frontends}`],
    ];
    const processes: MeasuredProcess[] = [];
    if (isCluster) {
      const workerPorts = ['--port', `${port}`, '--metrics-port', `${workerMetrics}`];
      processes.push(run(['worker', ...device, ...workerPorts, ...secret]));
      const workerToken = token === null ? [] : ['--worker-token-file', join(folder, 'token')];
      processes.push(
        run(['controller', '--worker', `127.0.0.1:${port}`, ...workerToken, ...ports, ...secret]),
      );
    } else processes.push(run(['serve', ...device, ...ports, ...secret]));
    const front = proxy ? await startProxy(folder, target, nice, processes) : target;
    const server = new AttackedServer(front, processes, folder, said);
    await server.untilReady();
    return server;
  }

  /** Of all processes that are alive, bytes. */
  get rssBytes(): number {
    return this.processes.reduce((sum, { rssBytes }) => sum + rssBytes, 0);
  }

  get isAlive(): boolean {
    return this.processes.every(({ isRunning }) => isRunning);
  }

  /** What the processes said last, for people. */
  get lastWords(): string {
    return this.said.text.slice(-2000);
  }

  async stop(): Promise<void> {
    clearInterval(this.sampling);
    await Promise.all(this.processes.map((each) => each.stop()));
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async untilReady(): Promise<void> {
    for (let i = 0; i < 600 && this.isAlive; i++) {
      if ((await isReady(this.target)) && (await isOpen(this.target.grpc))) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await this.stop();
    throw new Error(`the server did not get ready:\n${this.lastWords}`);
  }
}

/** Puts HAProxy with the configuration for the open internet in front of a server, on ports of its own. */
async function startProxy(
  folder: string,
  target: Target,
  nice: number,
  processes: MeasuredProcess[],
): Promise<Target> {
  const [http, grpc] = await freePorts(2);
  let config = readFileSync(PROXY, 'utf8')
    .replace('bind :8443', `bind 127.0.0.1:${http}`)
    .replace('bind :8444', `bind 127.0.0.1:${grpc}`);
  if (target.tls) {
    const { key, cert } = selfSigned();
    writeFileSync(join(folder, 'server.pem'), Buffer.concat([cert, key]));
  } else
    config = config
      .replace(' ssl crt server.pem alpn http/1.1', '')
      .replace(' ssl crt server.pem alpn h2', ' proto h2');
  config = config
    .replaceAll('127.0.0.1:8000', `127.0.0.1:${target.http}`)
    .replace('127.0.0.1:8001', `127.0.0.1:${target.grpc}`);
  writeFileSync(join(folder, 'haproxy.cfg'), config);
  // Debian puts it where users other than root do not look.
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
  const command = ['-n', `${nice}`, 'haproxy', '-f', 'haproxy.cfg', '-db'];
  processes.push(new MeasuredProcess(['nice', ...command], { cwd: folder, env, stdio: 'ignore' }));
  return { ...target, http, grpc };
}

function isReady({ http, tls }: Target): Promise<boolean> {
  const send = tls ? requestTls : request;
  // A certificate of its own is right for a server that lives a minute.
  const options = { port: http, host: '127.0.0.1', path: '/v2/health/ready', rejectUnauthorized: false };
  return new Promise((resolve) => {
    const sent = send({ ...options, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    sent.on('error', () => resolve(false));
    sent.end();
  });
}

function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise((resolve) => {
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
  }).finally(() => socket.destroy()) as Promise<boolean>;
}

/** The priority holds for all threads only if the process starts with it. */
function spawnServer(
  main: string,
  nice: number,
  args: readonly string[],
  said: { text: string },
): MeasuredProcess {
  const server = new MeasuredProcess(['nice', '-n', `${nice}`, ...commandOf(args, main)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...IMAGE_ENV, ...process.env },
  });
  const keep = (bytes: Buffer) => {
    said.text = `${said.text}${bytes}`.slice(-10_000);
  };
  for (const output of [server.child.stdout, server.child.stderr]) output?.on('data', keep);
  return server;
}

/** Flags for the token, and for a certificate. */
function secrets(folder: string, { token, tls }: Pick<Target, 'token' | 'tls'>): string[] {
  const flags: string[] = [];
  if (token !== null) {
    writeFileSync(join(folder, 'token'), token);
    flags.push('--token-file', join(folder, 'token'));
  }
  if (tls) {
    const { key, cert } = selfSigned();
    const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    writeFileSync(keyFile, key);
    writeFileSync(certFile, cert);
    flags.push('--tls-cert', certFile, '--tls-key', keyFile);
  }
  return flags;
}

/** Profiles of models that take 2 ms. */
function profiles(folder: string): string {
  const batches = [1, 2, 4, 8].map((batch) => ({ batch, medianMs: 1.75 + 0.25 * batch }));
  const outputBytes = 4 * OUTPUT_ELEMENTS;
  return [SMALL, LARGE]
    .map(({ name, elements }) => {
      const file = join(folder, `${name}.json`);
      const profile = madeUpProfile({ name, inputBytes: 4 * elements, outputBytes, batches });
      writeFileSync(file, JSON.stringify(profile));
      return file;
    })
    .join(',');
}
