import { NS_PER_S } from '../../../src/base/units.js';
import { Draw } from '../draw.js';
import { drawCluster, drawKinds, drawLacks, drawScaler } from './draw-cluster.js';
import { drawFaults } from './draw-faults.js';
import { drawPipelines } from './draw-pipelines.js';
import { asSender, drawSenders, drawWorkload } from './draw-workload.js';
import type { Fault } from './fault.js';
import type { Scenario } from './scenario.js';

/** After failed LOADs a GPU is left alone for up to a minute. */
const RECOVER_NS = 30 * NS_PER_S;
const RECOVER_LOADS_NS = 100 * NS_PER_S;
/** Requests wait for as long as their SLO, and a policy may have loaded models for them meanwhile. */
const SPARE_NS = 5 * NS_PER_S;

/** The scenario of a seed. */
export function drawScenario(seed: number): Scenario {
  const draw = new Draw(seed, 'scenario');
  const loadNs = draw.log(2 * NS_PER_S, 20 * NS_PER_S);
  const plain = drawCluster(new Draw(seed, 'cluster'));
  // Streams of their own: seeds that draw none of it are as they were.
  const cluster = {
    ...plain,
    machines: drawLacks(new Draw(seed, 'lacks'), plain, drawKinds(new Draw(seed, 'kinds'), plain)),
    ...drawPipelines(new Draw(seed, 'pipelines'), plain),
    ...drawScaler(new Draw(seed, 'scaler')),
    ...drawSenders(new Draw(seed, 'senders')),
  };
  const { clients, changes } = drawWorkload(new Draw(seed, 'workload'), cluster, loadNs);
  const senders = new Draw(seed, 'clients of senders');
  const workload = { clients: clients.map((client) => asSender(senders, client, cluster)), changes };
  const faults = drawFaults(seed, cluster, loadNs);
  const longestNs = Math.max(...workload.clients.map(({ sloNs }) => sloNs));
  return {
    seed,
    cluster,
    workload,
    faults,
    loadNs,
    recoverNs: Math.max(recoverNsOf(faults), longestNs + SPARE_NS),
  };
}

/** In which all must work again when these faults are over. */
function recoverNsOf(faults: readonly Fault[]): number {
  const fails = faults.some(({ kind }) => kind === 'deviceFails' || kind === 'outOfMemory');
  return fails ? RECOVER_LOADS_NS : RECOVER_NS;
}
