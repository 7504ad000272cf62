import { formatDuration } from '../config/units-text.js';
import type { RunObserver } from '../core/observer.js';
import { LIMIT_NONE, LIMIT_RATE, partsOf, type Tenant } from '../core/tenants.js';
import { serverNotReady } from '../live/frontend/api-error.js';
import type { EventLog } from '../live/observe/event-log.js';
import { DRAINING, STANDS_BY, type WatchedService } from '../live/service.js';
import { shareText } from '../record/share-text.js';
import type { ClusterObserver } from './cluster.js';

const STANDS_BY_NOW = 'stands by: another controller drives the workers';
const DRIVES_NOW = 'drives the workers: no other controller does any more';

/** Logs events of workers and GPUs, and failures on them. */
export function loggedCluster(events: EventLog): ClusterObserver {
  return {
    draining(requests, upToNs) {
      const what = `draining: requests under way: ${requests}; waits up to ${formatDuration(upToNs)} for them`;
      if (requests > 0) events.say('info', {}, what, 'draining');
    },
    async ending(unanswered) {
      const what = `requests left without an answer: ${unanswered}; they get an error`;
      if (unanswered > 0) events.say('warn', {}, what, 'draining');
    },
    events: {
      // Also names its GPUs.
      worker: (worker, up, what, asAsked = false) =>
        events.say(
          up || asAsked ? 'info' : 'warn',
          { worker },
          `worker ${worker} ${what}`,
          `worker ${worker}`,
        ),
      // In either case another controller may have died.
      standsBy: (isIt) => events.say('warn', {}, isIt ? STANDS_BY_NOW : DRIVES_NOW, 'standing by'),
      deviceError: (gpu, model, error) =>
        events.say(
          'error',
          { gpu, model, error },
          `the device failed at an action of ${model}: ${error}`,
          `device ${gpu}`,
        ),
    },
  };
}

/**
 * Logs when the server stops being ready and when it is ready again; draining and standing by have lines of their own.
 */
export function logReadiness(events: EventLog, service: WatchedService): void {
  let said: string | null = null;
  service.watch(() => {
    const { notReady } = service.state;
    if (notReady === said || notReady === DRAINING || notReady === STANDS_BY) return;
    said = notReady;
    if (notReady === null) events.say('info', {}, 'the server is ready again', 'ready');
    else events.say('warn', {}, serverNotReady(notReady), 'ready');
  });
}

/** Logs a client that a port turns away. An IPv6 client is shown as its /64. */
export function logTurnedAway(events: EventLog, port: 'requests' | 'metrics', who: string): void {
  const client = who.includes(':') ? `${who}::/64` : who;
  const what = {
    requests: `connections of ${client} are turned away because there are too many; an address may have half of --max-connections; if it is a proxy, have it use fewer, or raise --max-connections`,
    metrics: `connections of ${client} to the metrics port are closed because there are too many; have it keep fewer open, or block it before it gets here`,
  }[port];
  events.say('warn', { client }, what, port);
}

/** Logs tenants whose requests are refused for their limits. */
export function loggedLimits(events: EventLog, tenants: readonly Tenant[]): RunObserver {
  const percents = partsOf(tenants).map(shareText);
  const texts = tenants.map(({ name, rateRps, burst }, i) => ({
    rate: `requests of tenant ${name} beyond its rate are refused (rate ${rateRps}/s, burst ${burst}); have it send less, or raise its rate or burst in the file of --experiment`,
    share: `GPUs are overloaded, so requests of tenant ${name} beyond its fair share are refused (share ${percents[i]}); have it send less, add GPUs, or give it a larger share in the file of --experiment`,
  }));
  return {
    answered({ tenant, limit }, slot) {
      if (limit[slot] === LIMIT_NONE) return;
      const of = tenant[slot];
      const { name } = tenants[of];
      const text = limit[slot] === LIMIT_RATE ? texts[of].rate : texts[of].share;
      events.say('warn', { tenant: name }, text, `tenant ${name}`);
    },
    completed() {},
  };
}
