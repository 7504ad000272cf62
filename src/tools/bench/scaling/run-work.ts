import { EscapementError } from '../../../base/errors.js';
import { NS_PER_MS } from '../../../base/units.js';
import type { RunObserver } from '../../../core/observer.js';
import { OUTCOME_LATE, OUTCOME_NAMES, OUTCOME_OK } from '../../../core/request.js';
import { LocalLink } from '../../../live/controller/link/local-link.js';
import { startMachine } from '../../../live/worker/local-machine.js';
import { play } from '../../../load/player.js';
import { openServiceTarget } from '../../../load/service-target.js';
import { startCluster } from '../../../serve/cluster.js';
import { DeviceProblems } from '../../../serve/device-problems.js';
import { TENSOR_SEED } from '../subject.js';
import { Meter } from './meter.js';
import { PhasedSource } from './phased-source.js';
import type { Work } from './size.js';
import type { PointTrials, Trial } from './trial.js';

/** What the last phase left behind, a LOAD for instance, is over by then. */
const PAUSE_NS = 50 * NS_PER_MS;

/**
 * Serves the work through the live controller in real time, once to warm up and then in `trials`, with clients in this
 * process. Throws coded errors of devices and models, and `E_SERVER` where most requests have no result.
 */
export async function runWork(
  { subject, gpus, clients, sloNs, requests, warmUpRequests }: Work,
  trials: number,
): Promise<PointTrials> {
  const { settings, mix, models, devices, pages, pageBytes } = subject;
  const machine = await startMachine({ devices: devices.slice(0, gpus), models, pages, pageBytes });
  const cluster = await startCluster(
    { links: [new LocalLink(machine)], policy: settings.policy, sloNs, admission: settings.admission },
    ({ cluster: { spec } }) => {
      const meter = new Meter(gpus, spec.models);
      return {
        meter: { run: meter, events: meter },
        problems: new DeviceProblems(),
      };
    },
  );
  const { run: meter } = cluster.observers.meter;
  const measured: Trial[] = [];
  const phases = [warmUpRequests, ...new Array<number>(trials).fill(requests)];
  const source = new PhasedSource({
    clients,
    mix,
    sloNs,
    phases,
    pauseNs: PAUSE_NS,
    begin: (_phase, dueNs) => meter.begin(dueNs),
    end: (phase, nowNs) => {
      if (phase > 0) measured.push(meter.end(nowNs, phases[phase]));
    },
  });
  try {
    const { lateness } = await play({
      source,
      clock: cluster.assembly.clock,
      target: openServiceTarget(cluster.controller, {
        models: models.map(({ spec }) => spec.name),
        seed: TENSOR_SEED,
      }),
      observer: retrying(source, meter, Math.min(requests, warmUpRequests), cluster.observers.problems),
    });
    return {
      gpus,
      models: models.length,
      clients,
      sloNs,
      trials: measured,
      latenessP99Ns: lateness.percentile(99),
    };
  } finally {
    await cluster.close();
  }
}

/** Sends again what had no result, so that all trials do the same work. Gives up after `most` of them in a phase. */
function retrying(source: PhasedSource, meter: Meter, most: number, problems: DeviceProblems): RunObserver {
  return {
    answered: (_requests, _slot, outcome) => {
      if (outcome === OUTCOME_OK || outcome === OUTCOME_LATE) return;
      source.again();
      if (meter.fail() <= most) return;
      const [problem = `the last one ended ${OUTCOME_NAMES[outcome]}`] = problems.messages;
      throw new EscapementError(
        'E_SERVER',
        `${most} requests of a trial had no result (${problem}): on a busy machine, try a longer SLO, e.g. --set slo=20s`,
      );
    },
    completed: () => {},
  };
}
