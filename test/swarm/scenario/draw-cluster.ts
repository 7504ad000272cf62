import { NS_PER_MS, NS_PER_S, NS_PER_US } from '../../../src/base/units.js';
import type { Draw } from './draw.js';
import type {
  ClockScenario,
  ClusterScenario,
  ControllerScenario,
  MachineScenario,
  ModelScenario,
  PolicyScenario,
} from './scenario.js';

const MOST_GPUS = 20;
/** What `src` assumes of a clock at most. */
const USUAL_DRIFT_PPM = 15;
/** They plan up to a margin before the deadline. */
const HAVE_MARGIN = ['edf', 'shepherd', 'alpaserve-sr', 'symphony'];
/** Without any it holds a lone request until it is too late for a thread that wakes late. */
const NEEDS_MARGIN = 'symphony';
const DAY_NS = 86_400 * NS_PER_S;

export function drawCluster(draw: Draw): ClusterScenario {
  const machines = drawMachines(draw);
  const models = drawModels(draw);
  const joining = draw.chance(0.4) ? 'registers' : 'listed';
  const largest = Math.max(...models.map(({ pages }) => pages));
  const all = models.reduce((sum, { pages }) => sum + pages, 0);
  return {
    machines,
    controllers: drawControllers(draw),
    joining,
    policy: drawPolicy(draw),
    admission: draw.chance(0.5) ? 'predict' : 'none',
    models,
    control: draw.chance(0.7) ? 'all' : 'explicit',
    defaultSloNs: draw.pick([10, 50, 100, 1000]) * NS_PER_MS,
    // From room for the largest model alone to room for all.
    pages: draw.chance(0.2) ? largest : draw.int(largest, Math.max(largest, all)),
    delayNs: draw.log(10 * NS_PER_US, 5 * NS_PER_MS),
    jitterNs: draw.chance(0.3) ? 0 : draw.log(NS_PER_US, 2 * NS_PER_MS),
  };
}

function drawMachines(draw: Draw): MachineScenario[] {
  const count = draw.int(1, 5);
  const most = Math.floor(MOST_GPUS / count);
  // Workers of different sizes are as likely as equal ones.
  const gpus = draw.log(1, most);
  const areEqual = draw.chance(0.5);
  return Array.from({ length: count }, (_, i) => ({
    name: `worker-${i}`,
    gpus: areEqual ? gpus : draw.log(1, most),
    clock: drawClock(draw),
  }));
}

function drawControllers(draw: Draw): ControllerScenario[] {
  const standbys = draw.pick([0, 0, 0, 1, 1, 2]);
  const startTogether = draw.chance(0.3);
  return Array.from({ length: 1 + standbys }, (_, i) => ({
    name: `controller-${i}`,
    isStandby: i > 0,
    startNs: startTogether ? 0 : draw.log(NS_PER_MS, NS_PER_S),
    hasJournal: draw.chance(0.8),
    clock: drawClock(draw),
  }));
}

function drawClock(draw: Draw): ClockScenario {
  const ppm = draw.chance(0.9) ? USUAL_DRIFT_PPM : 10 * USUAL_DRIFT_PPM;
  return { originNs: draw.log(NS_PER_S, 100 * DAY_NS), driftPpm: draw.int(-ppm, ppm) };
}

function drawModels(draw: Draw): ModelScenario[] {
  const count = draw.log(1, 24);
  const slowestNs = draw.log(2 * NS_PER_MS, 50 * NS_PER_MS);
  // Above 16 KiB inputs are handed from thread to thread.
  const inputBytes = draw.chance(0.8) ? draw.int(4, 512) : draw.log(16_000, 200_000);
  return Array.from({ length: count }, (_, i) => drawModel(draw, `model-${i}`, slowestNs, inputBytes));
}

function drawModel(draw: Draw, name: string, slowestNs: number, inputBytes: number): ModelScenario {
  const pages = draw.log(1, 40);
  const firstNs = draw.log(NS_PER_MS / 2, slowestNs);
  const batchSizes = [1, 2, 4, 8, 16].slice(0, draw.int(1, 5));
  // What each further request of a batch adds.
  const share = draw.int(10, 100) / 100;
  return {
    name,
    pages,
    // As 16 MiB go over PCIe.
    loadNs: pages * draw.int(NS_PER_MS, 2 * NS_PER_MS),
    batchSizes,
    execNs: batchSizes.map((size) => Math.round(firstNs * (1 + (size - 1) * share))),
    inputBytes,
    outputBytes: draw.int(4, 4096),
  };
}

function drawPolicy(draw: Draw): PolicyScenario {
  const kind = draw.pick([
    ...['escapement', 'escapement', 'escapement', 'clockwork', 'clockwork'],
    ...['fifo', 'edf', 'nexus', 'shepherd', 'clipper', 'alpaserve-sr', 'symphony', 'edgeserving'],
  ]);
  if (HAVE_MARGIN.includes(kind)) {
    const hasNone = kind !== NEEDS_MARGIN && draw.chance(0.25);
    return { kind, options: hasNone ? {} : { margin: draw.log(5 * NS_PER_MS, 50 * NS_PER_MS) } };
  }
  if (kind !== 'escapement' && kind !== 'clockwork') return { kind, options: {} };
  // With a millisecond, for which lanes count as booked at least, nothing would be served.
  const scheduleAhead = draw.chance(0.5) ? 'auto' : draw.log(NS_PER_MS + 1, 50 * NS_PER_MS);
  return { kind, options: { scheduleAhead } };
}
