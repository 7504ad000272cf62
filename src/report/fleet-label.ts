/** `cluster.gpus.t4`, `cluster.gpus.t4.count`: number of GPUs of a kind. */
const KEY = /^cluster\.gpus\.([A-Za-z][\w-]*)(?:\.count)?$/;

/** Kind of GPUs that a key counts; null if none. */
export function kindOfGpus(key: string): string | null {
  return KEY.exec(key)?.[1] ?? null;
}

/** `1 × v100 + 11 × t4`; kinds without a GPU are left out, unless none has one. */
function fleetLabel(counts: readonly (readonly [kind: string, count: string | number])[]): string {
  const some = counts.filter(([, count]) => Number(count) !== 0);
  return (some.length > 0 ? some : counts).map(([kind, count]) => `${count} × ${kind}`).join(' + ');
}

/** The fleet in some `key=value` pairs, null if no key counts GPUs of a kind, and the other pairs. */
export function takeFleet(values: Readonly<Record<string, string>>): {
  readonly fleet: string | null;
  readonly others: Readonly<Record<string, string>>;
} {
  const counts: [string, string][] = [];
  const others: Record<string, string> = {};
  for (const [key, value] of Object.entries(values)) {
    const kind = kindOfGpus(key);
    if (kind === null) others[key] = value;
    else counts.push([kind, value]);
  }
  return { fleet: counts.length === 0 ? null : fleetLabel(counts), others };
}
