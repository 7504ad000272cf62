import type { Registry } from 'prom-client';
import type { Clock } from '../base/clock/clock.js';
import type { Fleet } from '../live/controller/fleet.js';
import type { Registration } from '../live/controller/fleet-worker.js';
import type { WorkerLink } from '../live/controller/link/worker-link.js';
import { openRegistration } from '../live/controller/registration/registration-endpoint.js';
import { LEASE_HAS_ENDED, Registrations } from '../live/controller/registration/registrations.js';
import type { EventLog } from '../live/observe/event-log.js';
import { registerJoining } from '../live/observe/telemetry/controller-metrics.js';
import type { ServerTls } from '../live/wire/credentials.js';
import type { ServedPort } from '../live/wire/listener.js';
import type { World } from '../live/world/world.js';

/** Options for workers that register themselves. */
export interface JoiningOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Token that workers must present; absent: none. */
  readonly token?: string | undefined;
  /** Absent: no encryption. */
  readonly tls?: ServerTls | undefined;
  /** Limit on the cluster's GPUs. */
  readonly maxGpus: number;
  /** Connects to a registered worker; `complain` receives the reasons for failures. */
  readonly newLink: (registration: Registration, complain: (what: string) => void) => WorkerLink;
}

/** Port at which workers register with a server. */
export interface Joining extends ServedPort {
  readonly maxGpus: number;
  /** Starts to admit workers. */
  begin(fleet: Fleet): void;
}

/** Takes registrations, with a log and metrics of them, until it is closed: workers stay connected. Throws `E_LISTEN` and `E_TLS`. */
export async function openJoining(
  options: JoiningOptions,
  { network }: Pick<World, 'network'>,
  clock: Clock,
  log: EventLog,
  registry: Registry,
): Promise<Joining> {
  const say = (level: 'info' | 'warn', worker: string, what: string) =>
    log.say(level, { worker }, `worker ${worker} ${what}`, `worker ${worker}`);
  const registrations = new Registrations({
    newLink: options.newLink,
    clock,
    events: {
      joined: (worker) => say('info', worker, 'has joined'),
      left: (worker, why) => say(why === LEASE_HAS_ENDED ? 'warn' : 'info', worker, `has left: ${why}`),
      refused: (worker, why) => say('warn', worker, `is not accepted: ${why}`),
      turnedAway: (from, why) => {
        const what = `a worker that registers from ${from} is rejected: ${why}`;
        log.say('warn', { from }, what, 'registrations');
      },
    },
  });
  try {
    const endpoint = await openRegistration(registrations, { ...options, time: clock.time, network });
    registerJoining(registry, registrations);
    return {
      maxGpus: options.maxGpus,
      port: endpoint.port,
      begin: (fleet) => registrations.begin(fleet),
      renew: (tls) => endpoint.renew(tls),
      close: () => {
        registrations.close();
        return endpoint.close();
      },
    };
  } catch (error) {
    registrations.close();
    throw error;
  }
}
