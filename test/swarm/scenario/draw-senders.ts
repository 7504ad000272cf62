import type { Draw } from './draw.js';
import type { ClassScenario, ClientScenario, ClusterScenario, TenantScenario } from './scenario.js';

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
