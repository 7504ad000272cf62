import { meanOf } from '../statistics.js';
import type { PolicyComparison } from './compare.js';

/** What each policy gave each class: attainment, mean over the cells that all policies finished. */
export interface ClassAttainment {
  readonly classes: readonly { readonly name: string; readonly weight: number }[];
  /** In the order of the policies; by class. */
  readonly attainment: readonly (readonly number[])[];
}

/** Null where not all runs have the same classes. */
export function attainmentByClass({ cells, policies }: PolicyComparison): ClassAttainment | null {
  const complete = cells.filter(({ results }) => results.every((result) => result !== null));
  const all = complete.flatMap(({ results }) => results.map((result) => result?.classes ?? []));
  const [classes = []] = all;
  const names = JSON.stringify(classes.map(({ name, weight }) => [name, weight]));
  const same = all.every((list) => JSON.stringify(list.map(({ name, weight }) => [name, weight])) === names);
  if (classes.length === 0 || !same) return null;
  return {
    classes: classes.map(({ name, weight }) => ({ name, weight })),
    attainment: policies.map((_, policy) =>
      classes.map((__, c) => meanOf(complete.map(({ results }) => results[policy]!.classes[c]!.attainment))),
    ),
  };
}
