import type { Logger } from 'pino';
import type { Time } from '../base/world/time.js';
import { formatDuration } from '../config/units-text.js';
import { Bursts } from '../live/bursts.js';
import { serverNotReady } from '../live/frontend/api-error.js';
import type { KeeperEvents } from '../live/journal/journal-keeper.js';
import { LONGEST_S, type RecordingEvents } from '../live/recording/server-recorder.js';
import { DRAINING, STANDS_BY, type WatchedService } from '../live/service.js';
import type { Assembly, ClusterObserver } from './cluster.js';

/** Logs events of workers and GPUs, and failures on them. */
export function loggedCluster(log: Logger, { clock, fleet }: Assembly): ClusterObserver {
  const bursts = new Bursts(clock.time);
  return {
    draining(requests, upToNs) {
      if (requests > 0)
        log.info(`draining: requests under way: ${requests}; waits up to ${formatDuration(upToNs)} for them`);
    },
    async ending(unanswered) {
      if (unanswered > 0) log.warn(`requests left without an answer: ${unanswered}; they get an error`);
    },
    events: {
      // Also names the GPUs lost with it.
      worker: (worker, up, what, asAsked = false) =>
        bursts.say(`worker ${worker}`, `worker ${worker} ${what}`, (line) =>
          log[up || asAsked ? 'info' : 'warn']({ worker }, line),
        ),
      gpuUp: (gpu) => {
        const worker = fleet.nameOf(gpu);
        bursts.say(`worker ${worker}`, `GPU ${gpu} is there, on worker ${worker}`, (line) =>
          log.info({ gpu, worker }, line),
        );
      },
      standsBy: (isIt) =>
        // In either case another controller may have died.
        bursts.say('standing by', isIt ? STANDS_BY_NOW : DRIVES_NOW, (line) => log.warn(line)),
      deviceError: (gpu, model, error) =>
        bursts.say(`device ${gpu}`, `the device failed at an action of ${model}: ${error}`, (line) =>
          log.error({ gpu, model, error }, line),
        ),
    },
  };
}

const STANDS_BY_NOW = 'stands by: another controller drives the workers';
const DRIVES_NOW = 'drives the workers: no other controller does any longer';

/**
 * Logs when the server stops being ready and when it is ready again; draining and standing by have lines of their own.
 */
export function logReadiness(log: Logger, service: WatchedService, time: Time): void {
  let said: string | null = null;
  const bursts = new Bursts(time);
  service.watch(() => {
    const { notReady } = service.state;
    if (notReady === said || notReady === DRAINING || notReady === STANDS_BY) return;
    said = notReady;
    bursts.say('ready', notReady === null ? 'the server is ready again' : serverNotReady(notReady), (line) =>
      log[notReady === null ? 'info' : 'warn'](line),
    );
  });
}

export function loggedRecordings(log: Logger): RecordingEvents {
  return {
    started: (mode) => log.info({ mode }, `recording, for ${LONGEST_S} s at most`),
    written: (recording) =>
      log.info(recording, 'the recording is written: open it at https://ui.perfetto.dev'),
    failed: (error) => log.error({ error: error.message }, 'the timeline cannot be written'),
  };
}

export function loggedKeeper(log: Logger): KeeperEvents {
  return {
    deleted: (journal, bytes) =>
      log.info({ journal, bytes }, 'deleted: all journals together were larger than --journal-keep'),
    outgrown: (journal, bytes) =>
      log.warn({ journal, bytes }, 'this journal alone is larger than --journal-keep, and it keeps growing'),
  };
}
