/** Groups items by `keyOf`; keys and items in order of appearance. */
export function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** The items that are there: conditions that do not hold leave `false`. */
export function present<T>(...items: readonly (T | false | null | undefined)[]): T[] {
  return items.filter((item): item is T => item !== false && item !== null && item !== undefined);
}
