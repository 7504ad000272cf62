import type { WorkerLink } from '../../live/controller/link/worker-link.js';
import type { JoiningOptions } from '../../serve/joining.js';
import { checkPorts, listenAddress } from '../listening.js';
import { file, group, list, text, toggle, usageError, type ValuesOf, whole } from '../options.js';
import { deploymentFlags, listenFlags, serverFlags } from '../server-options.js';
import { tlsOf } from '../token.js';

export const flags = {
  ...group('Workers', {
    worker: list('Worker to use; give it once per worker'),
    listen: text('Accept workers that register at this port; 0: any free port'),
    'max-gpus': whole(1).or(64, 'With --listen, the most GPUs that the cluster may have'),
    'min-workers': whole(1).or(1, 'Start once this many are connected; the others join later'),
    standby: toggle('Stand by: take over the workers when the active controller is gone'),
    'worker-token-file': file('File with the token that the workers require'),
    'worker-ca': file("Verify the workers' TLS certificates against this authority (PEM)"),
  }),
  ...group('Models', deploymentFlags),
  ...serverFlags,
  ...listenFlags,
};
export const examples = [
  'controller --worker 10.0.0.1:8003 --worker 10.0.0.2:8003 --host 0.0.0.0',
  'controller --listen 8004 --host 0.0.0.0',
];

type Args = ValuesOf<typeof flags>;

/** `escapement controller`: scheduler and frontends, for workers on other machines. */
export async function handler(args: Args): Promise<void> {
  const { worker: addresses, listen, 'min-workers': least } = args;
  if (addresses.length === 0 && listen === undefined)
    throw usageError(
      '--worker HOST:PORT is required, at least once, or --listen PORT for workers that register',
    );
  // Settings of model execution belong to the workers' own flags.
  const foreign = args.set.find((override) => /^\s*runtime\./.test(override));
  if (foreign !== undefined)
    throw usageError(`--set ${foreign}: a controller runs no models; pass it to the workers`);
  const { RemoteLink } = await import('../../live/controller/link/remote-link.js');
  const { CallThread } = await import('../../live/controller/link/call-thread.js');
  const { RemoteLinks } = await import('../../live/controller/link/remote-links.js');
  const { EventLog } = await import('../../live/observe/event-log.js');
  const { clientCredentials } = await import('../../live/wire/credentials.js');
  const { deploymentOptions } = await import('../machine.js');
  const { renew } = await import('../renewal.js');
  const { runServer } = await import('../run-server.js');
  const { 'worker-token-file': workerToken, 'worker-ca': authority } = args;
  const access: WorkerAccess = {
    ...(workerToken && { token: workerToken.token }),
    ...(authority && { tls: { ca: authority.bytes } }),
  };
  await runServer('controller', args, async (_settings, { log, world, hung }) => {
    const { call } = new CallThread(world, hung);
    const remote = new RemoteLinks({ world, call, isStandby: args.standby });
    const connect: Connect = (address, extra, complain) =>
      new RemoteLink({ address, ...access, ...extra, log: complain }, remote);
    const events = new EventLog(log, world.time);
    const links = addresses.map((address) =>
      connect(address, {}, (what) =>
        events.say('warn', { worker: address }, `worker ${address}: ${what}`, address),
      ),
    );
    return {
      links,
      deployment: deploymentOptions(args),
      listening: (certificates) =>
        renew('worker_authority', ['worker-ca'], args, { log, gauges: certificates }, ([ca]) => {
          const tls = { ca: ca! };
          clientCredentials(tls);
          remote.renew(tls);
          // Later connections trust the file's current content.
          access.tls = tls;
        }),
      minWorkers: listen === undefined ? Math.min(least, addresses.length) : least,
      ...(listen === undefined ? {} : { joining: await joiningOf(args, listen, access.token, connect) }),
    };
  });
}

/** Credentials for connections to workers. */
interface WorkerAccess {
  readonly token?: string;
  tls?: { readonly ca: Buffer };
}

type Connect = (
  address: string,
  extra: { readonly instance?: string },
  complain: (what: string) => void,
) => WorkerLink;

async function joiningOf(
  args: Args,
  listen: string,
  token: string | undefined,
  connect: Connect,
): Promise<JoiningOptions> {
  const { host, port } = listenAddress(listen, args.host);
  await checkPorts(host, { listen: port });
  const tls = tlsOf(args);
  return {
    ...{ host, port, token, maxGpus: args['max-gpus'] },
    ...(tls === null ? {} : { tls }),
    newLink: ({ address, instance }, complain) => connect(address, { instance }, complain),
  };
}
