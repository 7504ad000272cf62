import { NS_PER_S } from '../../src/base/units.js';
import type { Scenario } from './scenario/scenario.js';

/** What is done at the time of the failure may still matter. */
const AFTER_NS = NS_PER_S / 10;

export interface ShrinkOptions {
  /** Whether a scenario fails as the first one does. */
  readonly fails: (scenario: Scenario) => Promise<boolean>;
  /** When the first one did. */
  readonly failedNs: number;
  /** Of `fails`; what was found by then is the result. */
  readonly mostRuns: number;
}

/** A smaller scenario that still fails: it ends with the failure if it can, has fewer faults, changes of models, and clients. */
export async function shrink(
  scenario: Scenario,
  { fails, failedNs, mostRuns }: ShrinkOptions,
): Promise<Scenario> {
  let smallest = scenario;
  let runs = 0;
  const accept = async (candidate: Scenario) => {
    if (runs++ >= mostRuns || !(await fails(candidate))) return false;
    smallest = candidate;
    return true;
  };
  await accept(endAt(scenario, failedNs + AFTER_NS));
  await ddmin(smallest.faults, (faults) => accept({ ...smallest, faults }));
  for (const list of ['changes', 'clients'] as const)
    await ddmin<unknown>(smallest.workload[list], (part) =>
      accept({ ...smallest, workload: { ...smallest.workload, [list]: part } } as Scenario),
    );
  return smallest;
}

/**
 * A part of `items`, in their order, that still fails, and of which no single item can be left out: delta debugging
 * (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002). `fails(items)` holds.
 */
export async function ddmin<T>(
  items: readonly T[],
  fails: (part: readonly T[]) => Promise<boolean>,
): Promise<void> {
  if (items.length > 0 && (await fails([]))) return;
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

/** Load and faults are over by then; what would come later is left out. */
function endAt(scenario: Scenario, atNs: number): Scenario {
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
