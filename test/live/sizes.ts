/**
 * How much everything holds that can be reached from an object: entries of arrays, maps and sets by the path to them, where
 * those at the same place in several objects count together. Finds state that grows, whatever it is called.
 */
export function sizesOf(root: object): Map<string, number> {
  const sizes = new Map<string, number>();
  const seen = new Set<object>();
  const waiting: [string, object][] = [['', root]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [path, value] = next;
    if (seen.has(value)) continue;
    seen.add(value);
    const size = sizeOf(value);
    if (size !== null) sizes.set(path, (sizes.get(path) ?? 0) + size);
    for (const [name, part] of partsOf(value))
      if (typeof part === 'object' && part !== null) waiting.push([`${path}${name}`, part]);
  }
  return sizes;
}

/** The larger one of each. */
export function largerOf(
  a: ReadonlyMap<string, number>,
  b: ReadonlyMap<string, number>,
): Map<string, number> {
  return new Map(
    [...new Set([...a.keys(), ...b.keys()])].map((path) => [
      path,
      Math.max(a.get(path) ?? 0, b.get(path) ?? 0),
    ]),
  );
}

/** Paths at which there is more than before by more than `slack`, and how much. */
export function grown(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  slack: number,
): string[] {
  return [...after].flatMap(([path, size]) => {
    const was = before.get(path) ?? 0;
    return size > was + slack ? `${path}: ${was} to ${size}` : [];
  });
}

function sizeOf(value: object): number | null {
  if (Array.isArray(value)) return value.length;
  return value instanceof Map || value instanceof Set ? value.size : null;
}

function partsOf(value: object): [string, unknown][] {
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return [];
  if (value instanceof Map)
    return [...value].flatMap((pair) => pair.map((part): [string, unknown] => ['{}', part]));
  if (Array.isArray(value) || value instanceof Set) return [...value].map((part) => ['[]', part]);
  return Object.entries(value).map(([name, part]) => [`.${name}`, part]);
}
