import { isKindName } from '../../live/messages.js';
import { checkAddress } from '../../live/wire/address.js';
import { untilStopped } from '../interruption.js';
import { checkPorts, hintAtHost } from '../listening.js';
import { file, group, list, option, port, size, usageError, type ValuesOf } from '../options.js';
import { listenFlags, machineFlags, runtimeFlags } from '../server-options.js';
import { tlsOf } from '../token.js';

export const flags = {
  ...machineFlags,
  ...group('Models and GPUs', {
    kind: option(kindOf)(
      'Kind of these GPUs, e.g. t4: times are kept by kind',
      'that of --device: cpu, cuda, … or simulated',
    ),
    'kept-memory': size.or(
      '1GiB',
      'Most memory for tensors between the steps of pipelines; what exceeds it goes to the controller',
    ),
  }),
  ...runtimeFlags,
  ...group('Network', {
    port: port.orOff('8003', 'Port for the controller; 0: any free port'),
    controller: list(
      'Register at the --listen port of this controller; give it once per controller and standby',
    ),
    advertise: {
      ...option((given) => checkAddress(given))(
        'With --controller, where controllers reach this worker',
        'the address that it connects from, and its port',
      ),
      implies: 'controller',
    },
  }),
  ...listenFlags,
  ...group('Security', {
    'controller-ca': {
      ...file("Verify the controllers' TLS certificates against this authority (PEM)"),
      implies: 'controller',
    },
  }),
};
export const examples = [
  'worker --repository models --device cuda --gpus 4 --host 0.0.0.0',
  'worker --repository models --host 0.0.0.0 --controller 10.0.0.9:8004',
];
export const notes = 'Runtime settings and their environment variables: escapement keys runtime';

/** `escapement worker`: the GPUs of one machine, for a controller elsewhere. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { createLog } = await import('../../live/observe/telemetry/log.js');
  // Comes first: the log also takes Node's warnings.
  const log = createLog(args['log-level'], 'worker');
  const { runWorker } = await import('../../serve/worker.js');
  const { REAL_WORLD } = await import('../../live/world/real-world.js');
  const { clientCredentials } = await import('../../live/wire/credentials.js');
  const { runtimeOf } = await import('../live-settings.js');
  const { workerMachine } = await import('../machine.js');
  const { renew, renewIdentity } = await import('../renewal.js');
  const runtime = await runtimeOf(args, (warning) => log.warn(warning));
  const say = (what: string) => log.info(what);
  const { port, host, 'metrics-port': metricsPort, 'controller-ca': authority } = args;
  const [token, tls] = [args['token-file']?.token ?? null, tlsOf(args)];
  if (port === null) throw usageError('--port off: a worker needs a port');
  const { kind, advertise: advertised } = args;
  const controllerTls = authority && { ca: authority.bytes };
  if (controllerTls !== undefined) clientCredentials(controllerTls, 'controller');
  const machine = await workerMachine(args, runtime, say);
  await checkPorts(host, { port, 'metrics-port': metricsPort });
  const worker = await runWorker({
    ...{ world: REAL_WORLD, host, port, metricsPort, log, keptBytes: args['kept-memory'] },
    machine: { ...machine, ...(kind === undefined ? {} : { kind }) },
    controllers: args.controller.map((address) => checkAddress(address, 'controller')),
    ...(advertised === undefined ? {} : { advertised }),
    ...(token === null ? {} : { token }),
    ...(tls === null ? {} : { tls }),
    ...(controllerTls === undefined ? {} : { controllerTls }),
  });
  const { certificates } = worker;
  const reports = { log, gauges: certificates };
  renewIdentity(args, reports, (identity) => worker.renew(identity));
  renew('controller_authority', ['controller-ca'], args, reports, ([ca]) => {
    clientCredentials({ ca: ca! }, 'controller');
    worker.trust({ ca: ca! });
  });
  hintAtHost(host, token, log);
  log.info(`${await untilStopped()}: takes no more actions`);
  await worker.close();
}

function kindOf(given: string): string {
  if (isKindName(given)) return given;
  throw new Error('write a name of letters, digits, _ and -, e.g. t4');
}
