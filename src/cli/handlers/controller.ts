import type { Logger } from 'pino';
import { EscapementError } from '../../base/errors.js';
import type { LinkHost } from '../../live/controller/link/thread/link-host.js';
import type { WorkerLink } from '../../live/controller/link/worker-link.js';
import type { CertificateGauges } from '../../live/observe/telemetry/gauges.js';
import { clientCredentials } from '../../live/wire/credentials.js';
import { REAL_WORLD } from '../../live/world/real-world.js';
import type { JoiningOptions } from '../../serve/joining.js';
import { checkPorts } from '../check-ports.js';
import type { ControllerArgs } from '../commands/controller.js';
import { listenAddress } from '../listen-address.js';
import { deploymentOptions } from '../machine.js';
import { renewAuthority } from '../renewal.js';
import { runServer, tlsOf } from '../run-server.js';
import { read, readToken } from '../token.js';

/** `escapement controller`: the scheduler and the frontends, for workers on other machines. */
export async function run(args: ControllerArgs): Promise<void> {
  const { worker: addresses, listen } = args;
  if (addresses.length === 0 && listen === undefined) {
    const what = '--worker HOST:PORT is required, at least once, or --listen PORT for workers that register';
    throw new EscapementError('E_USAGE', what);
  }
  checkSettings(args.set);
  const { RemoteLink } = await import('../../live/controller/link/remote-link.js');
  const { Bursts } = await import('../../live/bursts.js');
  const { LinkHost } = await import('../../live/controller/link/thread/link-host.js');
  const access = await workerAccess(args);
  await runServer('controller', args, async (_settings, log, hung) => {
    const host = new LinkHost({
      world: REAL_WORLD,
      hung,
      isStandby: args.standby,
      stays: listen !== undefined,
    });
    const connect: Connect = (address, extra, complain) =>
      new RemoteLink({ address, ...access, ...extra, log: complain }, host);
    const bursts = new Bursts(REAL_WORLD.time);
    const warner = (address: string) => (what: string) =>
      bursts.say(address, `worker ${address}: ${what}`, (line) => log.warn({ worker: address }, line));
    const links = addresses.map((address) => connect(address, {}, warner(address)));
    const least = args['min-workers'];
    return {
      links,
      deployment: deploymentOptions(args),
      listening: (certificates) => followAuthority(args, access, host, log, certificates),
      minWorkers: listen === undefined ? Math.min(least, addresses.length) : least,
      ...(listen === undefined ? {} : { joining: await joiningOf(args, listen, access, connect, host) }),
    };
  });
}

/** What opens the workers. */
interface WorkerAccess {
  readonly token?: string;
  tls?: { readonly ca: Buffer };
}

type Connect = (
  address: string,
  extra: { readonly instance?: string },
  complain: (what: string) => void,
) => WorkerLink;

async function workerAccess(args: ControllerArgs): Promise<WorkerAccess> {
  const { 'worker-token-file': tokenFile, 'worker-ca': caFile } = args;
  const token = tokenFile === undefined ? {} : { token: await readToken(tokenFile, 'worker-token-file') };
  return caFile === undefined ? token : { ...token, tls: { ca: await read(caFile, 'worker-ca') } };
}

/** Links that are made later trust what the file holds then. */
function followAuthority(
  { 'worker-ca': path }: ControllerArgs,
  access: WorkerAccess,
  links: LinkHost,
  log: Logger,
  gauges: CertificateGauges,
): void {
  if (path === undefined || access.tls === undefined) return;
  renewAuthority({ flag: '--worker-ca', path, ca: access.tls.ca }, log, gauges, (ca) => {
    clientCredentials({ ca });
    links.renew({ ca });
    access.tls = { ca };
  });
}

async function joiningOf(
  args: ControllerArgs,
  listen: string,
  { token }: WorkerAccess,
  connect: Connect,
  links: LinkHost,
): Promise<JoiningOptions> {
  const { host, port } = listenAddress(listen, args.host);
  await checkPorts(host, { listen: port });
  const tls = await tlsOf(args);
  return {
    ...{ host, port, token, maxGpus: args['max-gpus'] },
    ...(tls === null ? {} : { tls }),
    newLink: ({ address, instance }, complain) => connect(address, { instance }, complain),
    ended: () => links.close(),
  };
}

/** What workers do with models is for their own flags to say. */
function checkSettings(overrides: readonly string[]): void {
  const foreign = overrides.find((override) => /^\s*runtime\.(?!recording)/.test(override));
  if (foreign === undefined) return;
  throw new EscapementError(
    'E_USAGE',
    `--set ${foreign}: a controller runs no models; pass it to the workers`,
  );
}
