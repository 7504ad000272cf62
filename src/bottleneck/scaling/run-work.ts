import { EscapementError } from '../../core/errors.js';
import type { RunObserver } from '../../core/observer.js';
import { OUTCOME_LATE, OUTCOME_NAMES, OUTCOME_OK } from '../../core/request.js';
import { NS_PER_MS, NS_PER_S } from '../../core/units.js';
import { createPolicyOf } from '../../experiment/create-policy.js';
import { Clock } from '../../live/clock.js';
import { Fleet } from '../../live/controller/fleet.js';
import { LiveController } from '../../live/controller/live-controller.js';
import { NO_EVENTS } from '../../live/controller/live-events.js';
import { play } from '../../live/load/player.js';
import { openServiceTarget } from '../../live/load/service-target.js';
import { startMachine } from '../../live/machine/local-machine.js';
import { LocalWorker } from '../../live/transport/local-worker.js';
import { TENSOR_SEED } from '../subject.js';
import { Meter } from './meter.js';
import { PhasedSource } from './phased-source.js';
import type { Work } from './size.js';
import type { PointTrials, Trial } from './trial.js';

const ASSEMBLE_NS = 60 * NS_PER_S;
const HANG_NS = 10 * NS_PER_S;
/** What the last phase left behind, a LOAD for instance, is over by then. */
const PAUSE_NS = 50 * NS_PER_MS;

/**
 * Serves the work through the live controller in real time, once to warm up and then in `trials`, with clients in this
 * process. Throws coded errors of devices and models, and `E_SERVER` where most requests have no result.
 */
export async function runWork(work: Work, trials: number): Promise<PointTrials> {
  const { subject, gpus } = work;
  const { devices, models, pages, pageBytes } = subject;
  const machine = await startMachine({ devices: devices.slice(0, gpus), models, pages, pageBytes });
  try {
    return await runOn(new LocalWorker(machine), work, trials);
  } finally {
    await machine.close();
  }
}

async function runOn(
  link: LocalWorker,
  { subject, gpus, clients, sloNs, requests, warmUpRequests }: Work,
  trials: number,
): Promise<PointTrials> {
  const { settings, mix, models } = subject;
  const fleet = new Fleet([link]);
  const clock = new Clock();
  const cluster = await fleet.assemble(() => clock.nowNs(), ASSEMBLE_NS);
  const meter = new Meter(gpus, cluster.spec.models);
  const problems = new Set<string>();
  const controller = new LiveController({
    fleet,
    cluster,
    clock,
    createPolicy: createPolicyOf(settings.policy),
    defaultSloNs: sloNs,
    admission: settings.admission,
    observer: meter,
    events: {
      ...NO_EVENTS,
      stepped: (_nowNs, tookNs) => meter.stepped(tookNs),
      gpuDown: (gpu, reason) => problems.add(`GPU ${gpu} was lost: ${reason}`),
      deviceError: (gpu, model, error) => problems.add(`GPU ${gpu}, ${model}: ${error}`),
    },
    journal: null,
    hangNs: HANG_NS,
  });
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
      clock,
      target: openServiceTarget(controller, {
        models: models.map(({ spec }) => spec.name),
        seed: TENSOR_SEED,
      }),
      observer: retrying(source, meter, Math.min(requests, warmUpRequests), problems),
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
    await controller.close();
  }
}

/** Sends again what had no result, so that all trials do the same work. Gives up after `most` of them in a phase. */
function retrying(
  source: PhasedSource,
  meter: Meter,
  most: number,
  problems: ReadonlySet<string>,
): RunObserver {
  return {
    answered: (_requests, _slot, outcome) => {
      if (outcome === OUTCOME_OK || outcome === OUTCOME_LATE) return;
      source.again();
      if (meter.fail() <= most) return;
      const [problem = `the last one ended ${OUTCOME_NAMES[outcome]}`] = problems;
      throw new EscapementError(
        'E_SERVER',
        `${most} requests of a trial had no result (${problem}): on a busy machine try --set policy.latestDelta=1s, or a longer --set slo`,
      );
    },
    completed: () => {},
  };
}
