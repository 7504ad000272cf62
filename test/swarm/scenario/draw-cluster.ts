import { NS_PER_MS, NS_PER_S, NS_PER_US } from '../../../src/base/units.js';
import { SCALERS } from '../../../src/scalers/registry.js';
import type { Draw } from '../draw.js';
import type {
  ClockScenario,
  ClusterScenario,
  ControllerScenario,
  KindScenario,
  MachineScenario,
  ModelScenario,
  PolicyScenario,
  ScalerScenario,
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

/** In a third of the seeds, machines with GPUs of up to three kinds. The first machine has room for every model. */
export function drawKinds(draw: Draw, cluster: ClusterScenario): readonly MachineScenario[] {
  const { machines, pages } = cluster;
  if (!draw.chance(0.35)) return machines;
  const kinds = Array.from({ length: draw.int(1, 3) }, (_, i): KindScenario => {
    const least = i === 0 ? pages : draw.int(1, pages);
    return {
      name: `kind-${i}`,
      slowness: draw.log(25, 400) / 100,
      pages: draw.chance(0.5) ? pages : least,
    };
  });
  return machines.map((machine, i) => ({ ...machine, kind: i === 0 ? kinds[0] : draw.pick(kinds) }));
}

/** In a quarter of the seeds, machines of one kind that lack models, each of which another one has. */
export function drawLacks(
  draw: Draw,
  { models, control }: ClusterScenario,
  machines: readonly MachineScenario[],
): readonly MachineScenario[] {
  const isDrawn = draw.chance(0.25);
  if (!isDrawn || machines.length === 1 || control !== 'all' || machines.some(({ kind }) => kind))
    return machines;
  const lacks = machines.map((): string[] => []);
  for (const { name } of models) {
    const kept = draw.int(0, machines.length - 1);
    for (const [i, list] of lacks.entries()) if (i !== kept && draw.chance(0.5)) list.push(name);
  }
  return machines.map((machine, i) => ({ ...machine, lacks: lacks[i] }));
}

/** In a quarter of the seeds. A log may say every ten seconds, or more often, that another number of GPUs is needed. */
export function drawScaler(draw: Draw): { readonly scaler?: ScalerScenario } {
  if (!draw.chance(0.25)) return {};
  return {
    scaler: {
      kind: draw.pick(SCALERS.filter(({ needsHindsight }) => !needsHindsight)).kind,
      intervalNs: draw.log(100 * NS_PER_MS, 10 * NS_PER_S),
      startNs: draw.chance(0.3) ? 0 : draw.log(100 * NS_PER_MS, 60 * NS_PER_S),
      more: draw.int(0, 8),
    },
  };
}
