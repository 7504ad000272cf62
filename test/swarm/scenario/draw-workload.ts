import { NS_PER_MS, NS_PER_S } from '../../../src/base/units.js';
import type { Draw } from '../draw.js';
import type {
  ClassScenario,
  ClientScenario,
  ClusterScenario,
  ModelChangeScenario,
  TenantScenario,
  WorkloadScenario,
} from './scenario.js';

/** A run of the swarm is short: rare combinations come from many runs. Most are small, and find what large ones do. */
const LEAST_CAP = 100;
const MOST_REQUESTS = 3000;

export function drawWorkload(draw: Draw, cluster: ClusterScenario, loadNs: number): WorkloadScenario {
  const count = draw.int(1, 4);
  const share = offeredRps(draw, cluster, loadNs) / count;
  const clients = Array.from({ length: count }, (_, i) =>
    drawClient(draw, `client-${i}`, cluster, loadNs, share),
  );
  return { clients, changes: draw.chance(0.3) ? drawChanges(draw, cluster, loadNs) : [] };
}

/** From a few percent of what the GPUs can do, to three times as much. */
function offeredRps(draw: Draw, { machines, models }: ClusterScenario, loadNs: number): number {
  const gpus = machines.reduce((sum, machine) => sum + machine.gpus, 0);
  const meanNs = models.reduce((sum, { execNs }) => sum + execNs[0], 0) / models.length;
  const capacityRps = (gpus * NS_PER_S) / meanNs;
  const loadPercent = draw.log(5, 300);
  const requests = draw.log(LEAST_CAP, MOST_REQUESTS);
  return Math.min((capacityRps * loadPercent) / 100, (requests * NS_PER_S) / loadNs);
}

function drawClient(
  draw: Draw,
  name: string,
  { models, pipelines = [] }: ClusterScenario,
  loadNs: number,
  rateRps: number,
): ClientScenario {
  const isOfPipelines = pipelines.length > 0 && draw.chance(0.7);
  const names = (isOfPipelines ? pipelines : models).map((target) => target.name);
  const beginNs = draw.chance(0.5) ? 0 : draw.int(0, loadNs / 2);
  return {
    name,
    // One hot model, a few, or many cold ones.
    models: draw.some(names, draw.pick([0, 0.1, 0.5, 1])),
    sloNs: draw.log(5 * NS_PER_MS, 60 * NS_PER_S),
    rateRps,
    burst: draw.chance(0.7) ? 1 : draw.log(2, 50),
    beginNs,
    endNs: draw.chance(0.5) ? loadNs : draw.int(beginNs, loadNs),
    repeats: draw.chance(0.5) ? 0 : draw.int(1, 5),
    patienceNs: draw.chance(0.7) ? null : draw.log(10 * NS_PER_MS, 5 * NS_PER_S),
  };
}

function drawChanges(
  draw: Draw,
  { models, control }: ClusterScenario,
  loadNs: number,
): ModelChangeScenario[] {
  if (control !== 'explicit' && control !== 'all') return [];
  return Array.from({ length: draw.int(1, 8) }, () => ({
    atNs: draw.int(0, loadNs),
    kind: draw.chance(0.5) ? ('unload' as const) : ('load' as const),
    model: draw.pick(models).name,
  })).sort((a, b) => a.atNs - b.atNs);
}

const WEIGHTS = [1, 1, 2, 10, 1000] as const;
const MOST_BURST = 100;

/** In a third of the seeds each: classes, and tenants. */
export function drawSenders(draw: Draw): Pick<ClusterScenario, 'classes' | 'tenants'> {
  return {
    ...(draw.chance(0.3) ? { classes: drawClasses(draw) } : {}),
    ...(draw.chance(0.3) ? { tenants: drawTenants(draw) } : {}),
  };
}

/** The client with its class and its tenant. */
export function asSender(
  draw: Draw,
  client: ClientScenario,
  { classes = [], tenants = [] }: ClusterScenario,
): ClientScenario {
  return {
    ...client,
    ...(classes.length === 0 ? {} : { requestClass: draw.int(0, classes.length - 1) }),
    ...(tenants.length === 0 ? {} : { tenant: draw.int(0, tenants.length - 1) }),
  };
}

function drawClasses(draw: Draw): ClassScenario[] {
  const count = draw.int(2, 4);
  return Array.from({ length: count }, (_, i) => ({
    name: `class-${i}`,
    weight: draw.pick(WEIGHTS),
    share: draw.chance(0.4) ? draw.int(1, Math.floor(90 / count)) / 100 : 0,
  }));
}

/** Who names none may send any number of requests. */
function drawTenants(draw: Draw): TenantScenario[] {
  return Array.from({ length: draw.int(2, 4) }, (_, i) => ({
    name: `tenant-${i}`,
    rateRps: i === 0 || draw.chance(0.4) ? null : draw.log(10, 2000) / 10,
    burst: draw.log(1, MOST_BURST),
    share: draw.pick(WEIGHTS),
  }));
}
