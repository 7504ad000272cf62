/** A command on `experiment.yaml` with its flags, a line each. */
export function commandLine(
  command: 'simulate' | 'run' | 'load' | 'sweep' | 'plan',
  flags: readonly string[],
): string {
  return [`escapement ${command} experiment.yaml`, ...flags, '--out results'].join(' \\\n  ');
}

/** Overrides as flags, quoted for a shell. */
export function setFlags(overrides: readonly string[] = []): string[] {
  return overrides.map((override) => `--set ${quoted(override)}`);
}

/** Quotes a word for a shell if necessary. */
export function quoted(word: string): string {
  return /^[\w.,:=/+%@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
