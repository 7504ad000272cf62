import type { SweepResults } from '../record/results.js';

/** A command on `experiment.yaml` with its flags, a line each. */
export function commandLine(
  command: 'simulate' | 'run' | 'load' | 'sweep' | 'plan',
  flags: readonly string[],
  out = 'results',
): string {
  return [`escapement ${command} experiment.yaml`, ...flags, `--out ${quoted(out)}`].join(' \\\n  ');
}

/** The command that repeats a sweep. */
export function sweepCommand({ vary, seeds, overrides, required = [] }: SweepResults, out?: string): string {
  const flags = [
    ...vary.map(({ key, values }) => `--vary ${quoted(`${key}=${values.join(',')}`)}`),
    ...setFlags(overrides),
    `--seeds ${seeds.join(',')}`,
    ...required.map((text) => `--threshold ${quoted(text)}`),
  ];
  return commandLine('sweep', flags, out);
}

/** Overrides as flags, quoted for a shell. */
export function setFlags(overrides: readonly string[] = []): string[] {
  return overrides.map((override) => `--set ${quoted(override)}`);
}

/** Quotes a word for a shell if necessary. */
export function quoted(word: string): string {
  return /^[\w.,:=/+%@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
