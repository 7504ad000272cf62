import { NS_PER_S } from '../../../src/base/units.js';
import { endNsOf } from '../scenario/fault.js';
import type { ClusterScenario, Scenario } from '../scenario/scenario.js';

/** Each makes a scenario simpler in one respect, or leaves it as it is. What halves may be applied again and again. */
export const simplifications: readonly ((scenario: Scenario) => Scenario)[] = [
  endEarlier,
  (scenario) => mapClients(scenario, { burst: 1 }),
  (scenario) => mapClients(scenario, { repeats: 0 }),
  (scenario) => mapClients(scenario, { patienceNs: null }),
  (scenario) => ({
    ...scenario,
    workload: {
      ...scenario.workload,
      clients: scenario.workload.clients.map((client) => ({ ...client, rateRps: client.rateRps / 2 })),
    },
  }),
  (scenario) => inCluster(scenario, { policy: { kind: 'fifo', options: {} } }),
  (scenario) => withoutKeys(scenario, ['scaler']),
  (scenario) => withoutKeys(scenario, ['classes', 'tenants']),
  withoutKinds,
  (scenario) => inCluster(scenario, { admission: 'none' }),
  (scenario) => inCluster(scenario, { control: 'all' }),
  (scenario) => inCluster(scenario, { joining: 'listed' }),
  (scenario) => inCluster(scenario, { jitterNs: 0 }),
  (scenario) =>
    inCluster(scenario, {
      machines: scenario.cluster.machines.map((machine) => ({ ...machine, clock: STEADY })),
      controllers: scenario.cluster.controllers.map((controller) => ({ ...controller, clock: STEADY })),
    }),
  halveGpus,
  shortenFaults,
];

const STEADY = { originNs: NS_PER_S, driftPpm: 0 };

/** A little after the last fault. */
function endEarlier(scenario: Scenario): Scenario {
  const lastNs = Math.max(
    0,
    ...scenario.faults.map(endNsOf),
    ...scenario.workload.changes.map(({ atNs }) => atNs),
  );
  return endAt(scenario, lastNs + NS_PER_S);
}

/** Load and faults are over by then; what would come later is left out. */
export function endAt(scenario: Scenario, atNs: number): Scenario {
  const loadNs = Math.min(scenario.loadNs, Math.ceil(atNs));
  const { clients, changes } = scenario.workload;
  const isBefore = (one: { readonly atNs: number }) => one.atNs < loadNs;
  return {
    ...scenario,
    loadNs,
    faults: scenario.faults.filter(isBefore).map((fault) => {
      return 'forNs' in fault ? { ...fault, forNs: Math.min(fault.forNs, loadNs - fault.atNs) } : fault;
    }),
    workload: {
      clients: clients
        .filter(({ beginNs }) => beginNs < loadNs)
        .map((client) => ({ ...client, endNs: Math.min(client.endNs, loadNs) })),
      changes: changes.filter(isBefore),
    },
  };
}

function mapClients(scenario: Scenario, change: object): Scenario {
  const { workload } = scenario;
  const clients = workload.clients.map((client) => ({ ...client, ...change }));
  return { ...scenario, workload: { ...workload, clients } };
}

function inCluster(scenario: Scenario, change: Partial<ClusterScenario>): Scenario {
  return { ...scenario, cluster: { ...scenario.cluster, ...change } };
}

function withoutKeys(scenario: Scenario, keys: readonly (keyof ClusterScenario)[]): Scenario {
  const entries = Object.entries(scenario.cluster).filter(
    ([key]) => !(keys as readonly string[]).includes(key),
  );
  const plain = { ...scenario, cluster: Object.fromEntries(entries) as unknown as ClusterScenario };
  if (!keys.includes('classes')) return plain;
  const { clients, changes } = plain.workload;
  return {
    ...plain,
    workload: { clients: clients.map(({ requestClass: _, tenant: __, ...client }) => client), changes },
  };
}

/** All GPUs are alike. */
function withoutKinds(scenario: Scenario): Scenario {
  return inCluster(scenario, {
    machines: scenario.cluster.machines.map(({ kind: _, ...machine }) => machine),
  });
}

function halveGpus(scenario: Scenario): Scenario {
  const machines = scenario.cluster.machines.map((machine) => ({
    ...machine,
    gpus: Math.ceil(machine.gpus / 2),
  }));
  const gpusOf = new Map(machines.map(({ name, gpus }) => [name, gpus]));
  const faults = scenario.faults.map((fault) =>
    'gpu' in fault ? { ...fault, gpu: fault.gpu % (gpusOf.get(fault.process) ?? 1) } : fault,
  );
  return { ...inCluster(scenario, { machines }), faults };
}

function shortenFaults(scenario: Scenario): Scenario {
  const faults = scenario.faults.map((fault) =>
    'forNs' in fault ? { ...fault, forNs: Math.ceil(fault.forNs / 2) } : fault,
  );
  return { ...scenario, faults };
}
