import { NS_PER_S } from '../../src/base/units.js';
import type { Fault } from './scenario/fault.js';
import { endNsOf } from './scenario/fault.js';
import type { ClusterScenario, Scenario } from './scenario/scenario.js';

/** What is done at the time of the failure may still matter. */
const AFTER_NS = NS_PER_S / 10;

export interface ShrinkOptions {
  /** Whether a scenario fails as the first one does. */
  readonly fails: (scenario: Scenario) => Promise<boolean>;
  /** When the first one did. */
  readonly failedNs: number;
  /** Of `fails`; what was found by then is the result. */
  readonly mostRuns: number;
  /** It got smaller. */
  readonly progress?: (scenario: Scenario, runs: number) => void;
}

/** A smaller scenario that still fails: it ends with the failure if it can, has fewer faults, clients and machines, simpler numbers. */
export async function shrink(scenario: Scenario, options: ShrinkOptions): Promise<Scenario> {
  const shrinker = new Shrinker(scenario, options);
  await shrinker.run();
  return shrinker.smallest;
}

class Shrinker {
  private runs = 0;
  /** Text of the scenarios that were tried. */
  private readonly tried = new Set<string>();

  constructor(
    public smallest: Scenario,
    private readonly options: ShrinkOptions,
  ) {}

  /** Again and again: with fewer faults, a smaller cluster may do. */
  async run(): Promise<void> {
    await this.accept(endAt(this.smallest, this.options.failedNs + AFTER_NS));
    let before: Scenario;
    do {
      before = this.smallest;
      await this.reduceFaults();
      await this.reduceWorkload('changes');
      await this.reduceWorkload('clients');
      await this.reduceNamed((s) => s.cluster.machines, withoutMachine);
      await this.reduceNamed((s) => s.cluster.controllers, withoutController);
      await this.reduceNamed((s) => s.cluster.pipelines ?? [], withoutModel);
      await this.reduceNamed((s) => s.cluster.models, withoutModel);
      await this.simplify();
    } while (this.smallest !== before && !this.isOver);
  }

  private get isOver(): boolean {
    return this.runs >= this.options.mostRuns;
  }

  private async reduceFaults(): Promise<void> {
    const from = this.smallest;
    await ddmin(from.faults, (faults) => this.accept({ ...from, faults }));
  }

  private async reduceWorkload(list: 'changes' | 'clients'): Promise<void> {
    const from = this.smallest;
    const { workload } = from;
    await ddmin<unknown>(workload[list], (part) =>
      this.accept({ ...from, workload: { ...workload, [list]: part } } as Scenario),
    );
  }

  /** One at least stays. */
  private async reduceNamed(
    list: (scenario: Scenario) => readonly { readonly name: string }[],
    without: (scenario: Scenario, name: string) => Scenario,
  ): Promise<void> {
    const from = this.smallest;
    const all = list(from).map(({ name }) => name);
    await ddmin(all, async (part) => {
      const dropped = all.filter((name) => !part.includes(name));
      return part.length > 0 && this.accept(dropped.reduce(without, from));
    });
  }

  private async simplify(): Promise<void> {
    for (const simpler of simplifications) {
      // What can be halved is halved as long as it still fails.
      while (!this.isOver && (await this.accept(simpler(this.smallest))));
    }
  }

  private async accept(candidate: Scenario): Promise<boolean> {
    const text = JSON.stringify(candidate);
    if (this.isOver || this.tried.has(text) || text === JSON.stringify(this.smallest)) return false;
    this.tried.add(text);
    this.runs++;
    if (!(await this.options.fails(candidate))) return false;
    this.smallest = candidate;
    this.options.progress?.(candidate, this.runs);
    return true;
  }
}

/**
 * A part of `items`, in their order, that still fails, and of which no single item can be left out: delta debugging
 * (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002). `fails(items)` holds.
 */
export async function ddmin<T>(
  items: readonly T[],
  fails: (part: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  if (items.length > 0 && (await fails([]))) return [];
  let left = items;
  let parts = 2;
  while (left.length > 1) {
    const smaller = await firstFailing(withoutEach(left, parts), fails);
    if (smaller !== null) {
      left = smaller;
      parts = Math.max(2, parts - 1);
    } else if (parts < left.length) parts = Math.min(left.length, 2 * parts);
    else break;
  }
  return left;
}

/** `items` without the first of so many equal parts, without the second, and so on. */
function withoutEach<T>(items: readonly T[], parts: number): readonly (readonly T[])[] {
  const cut = (part: number) => Math.round((part * items.length) / parts);
  return Array.from({ length: parts }, (_, part) => [
    ...items.slice(0, cut(part)),
    ...items.slice(cut(part + 1)),
  ]);
}

async function firstFailing<T>(
  candidates: readonly (readonly T[])[],
  fails: (part: readonly T[]) => Promise<boolean>,
): Promise<readonly T[] | null> {
  for (const candidate of candidates) if (await fails(candidate)) return candidate;
  return null;
}

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

/** Without a worker, and all that happens to it. */
export function withoutMachine(scenario: Scenario, name: string): Scenario {
  const machines = scenario.cluster.machines.filter((machine) => machine.name !== name);
  return {
    ...scenario,
    cluster: { ...scenario.cluster, machines },
    faults: scenario.faults.filter((fault) => !concerns(fault, name)),
  };
}

/** Without a controller, and all that happens to it. */
export function withoutController(scenario: Scenario, name: string): Scenario {
  const controllers = scenario.cluster.controllers.filter((controller) => controller.name !== name);
  return {
    ...scenario,
    cluster: { ...scenario.cluster, controllers },
    faults: scenario.faults.filter((fault) => !concerns(fault, name)),
  };
}

/** Without a model or a pipeline, the pipelines that need it, and the requests for them. */
export function withoutModel(scenario: Scenario, name: string): Scenario {
  const { cluster, workload } = scenario;
  const { pipelines = [] } = cluster;
  const users = pipelines.filter(({ steps }) => steps.some(({ models }) => models.includes(name)));
  const gone = [name, ...users.map((pipeline) => pipeline.name)];
  return {
    ...scenario,
    cluster: {
      ...cluster,
      models: cluster.models.filter((model) => model.name !== name),
      pipelines: pipelines.filter((pipeline) => !gone.includes(pipeline.name)),
    },
    workload: {
      clients: workload.clients
        .map((client) => ({ ...client, models: client.models.filter((model) => !gone.includes(model)) }))
        .filter(({ models }) => models.length > 0),
      changes: workload.changes.filter(({ model }) => model !== name),
    },
  };
}

function concerns(fault: Fault, name: string): boolean {
  const { process, machine, from, to } = fault as Fault & Partial<Record<string, unknown>>;
  return [process, machine, from, to].includes(name);
}
