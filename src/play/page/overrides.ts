/** The overrides with `key` set to `value`, in place of what they say of it. */
export function withOverride(overrides: readonly string[], key: string, value: string): readonly string[] {
  return [...overrides.filter((override) => !override.startsWith(`${key}=`)), `${key}=${value}`];
}

/** What the overrides set `key` to; empty: they do not. */
export function overrideOf(overrides: readonly string[], key: string): string {
  return overrides.find((override) => override.startsWith(`${key}=`))?.slice(key.length + 1) ?? '';
}
