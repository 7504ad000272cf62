import type { PartNames } from '../record/threshold.js';
import type { Experiment } from './experiment.js';

/** Names of the parts of an experiment's runs, as its results have them. */
export function partNames(experiment: Experiment): PartNames {
  const { classes, tenants, models, cluster } = experiment;
  const groups = sectionNames(experiment);
  const namesOf = (parts: readonly { readonly name: string }[]) => parts.map(({ name }) => name);
  return {
    group: groups.length < 2 ? [] : groups,
    class: namesOf(classes),
    tenant: namesOf(tenants.list),
    model: namesOf(models),
    length: [...new Set(models.flatMap(({ lengths = [] }) => lengths.map(String)))],
    kind: cluster.kinds.flatMap(({ name }) => name ?? []),
  };
}

/** Name of each workload section; without one its kind, with the first free number if that is taken. */
export function sectionNames({ workloads }: Pick<Experiment, 'workloads'>): string[] {
  const taken = new Set<string>(workloads.flatMap(({ name }) => name ?? []));
  return workloads.map(({ name, kind }) => {
    if (name !== undefined) return name;
    let free: string = kind;
    for (let i = 2; taken.has(free); i++) free = `${kind}-${i}`;
    taken.add(free);
    return free;
  });
}
