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

/** Name of each workload section, else its kind; with the first free number if that is taken. */
export function sectionNames({ workloads }: Pick<Experiment, 'workloads'>): string[] {
  const given = new Set(workloads.flatMap(({ name }) => name ?? []));
  const names = new Set<string>();
  for (const { name, kind } of workloads) {
    const wanted = name ?? kind;
    let free = wanted;
    for (let i = 2; names.has(free) || (free !== wanted && given.has(free)); i++) free = `${wanted}-${i}`;
    names.add(free);
  }
  return [...names];
}
