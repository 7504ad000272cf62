/** Returns the overrides with `key` set to `value`, replacing earlier values. */
export function withOverride(overrides: readonly string[], key: string, value: string): readonly string[] {
  return [...overrides.filter((override) => !override.startsWith(`${key}=`)), `${key}=${value}`];
}

/** Value of `key` in the overrides; empty: not set. */
export function overrideOf(overrides: readonly string[], key: string): string {
  return overrides.find((override) => override.startsWith(`${key}=`))?.slice(key.length + 1) ?? '';
}
