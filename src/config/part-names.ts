import { dimensionsOf } from '../record/dimensions.js';
import type { PartNames } from '../record/threshold.js';
import type { Experiment } from './experiment.js';

/** Names of the parts of an experiment's runs, as its results have them. */
export function partNames(experiment: Experiment): PartNames {
  const { classes, tenants, models, pipelines, cluster } = experiment;
  const sections = sectionNames(experiment);
  const dimensions = dimensionsOf({
    ...{ sections: sections.length < 2 ? [] : sections, classes, tenants: tenants.list, models, pipelines },
    kinds: cluster.kinds.flatMap(({ name }) => name ?? []),
  });
  const names = Object.entries(dimensions).map(([name, { parts }]) => [name, parts.map(({ key }) => key)]);
  return Object.fromEntries(names) as PartNames;
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
