import { EscapementError } from '../../base/errors.js';
import { deploymentOptions } from '../machine.js';
import { renewAuthority } from '../renewal.js';
import { runServer } from '../run-server.js';
import { read } from '../token.js';
import type { ControllerArgs } from '../usage/controller.js';

/** `escapement controller --worker HOST:PORT …`: the scheduler and the frontends, for workers on other machines. */
export async function run(args: ControllerArgs): Promise<void> {
  if (args.worker.length === 0) {
    throw new EscapementError('E_USAGE', '--worker HOST:PORT is required, at least once');
  }
  checkSettings(args.set);
  const { RemoteLink } = await import('../../live/controller/link/remote-link.js');
  const { LinkHost } = await import('../../live/controller/link/thread/link-host.js');
  const { 'worker-token-file': tokenFile, 'worker-ca': caFile } = args;
  const token =
    tokenFile === undefined
      ? {}
      : { token: (await read(tokenFile, 'worker-token-file')).toString('utf8').trim() };
  const tls = caFile === undefined ? {} : { tls: { ca: await read(caFile, 'worker-ca') } };
  await runServer('controller', args, async (_settings, log, hung) => {
    const host = new LinkHost({ hung, isStandby: args.standby });
    const links = args.worker.map((address) => {
      const warn = (what: string) => log.warn({ worker: address }, `worker ${address}: ${what}`);
      return new RemoteLink({ address, ...token, ...tls, log: warn }, host);
    });
    if (caFile !== undefined && tls.tls !== undefined)
      renewAuthority(caFile, tls.tls.ca, log, (ca) => {
        for (const link of links) link.renew({ ca });
      });
    return {
      links,
      deployment: deploymentOptions(args),
      minWorkers: Math.min(args['min-workers'], args.worker.length),
    };
  });
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
