import type { DrawnRun, RunKind, RunOrigin, RunResult, SweepResults } from '../record/results.js';

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

type KnownRun = Pick<DrawnRun, 'summary'> & { readonly origin?: RunOrigin };

/** Kind of a run in a few words: `simulated`, `live on 2 × cpu` or `load against http://127.0.0.1:8000`. */
export function kindText({ summary: { kind }, origin }: KnownRun): string {
  if (kind === 'load') return `load against ${origin?.url ?? 'a server'}`;
  return origin?.devices === undefined ? kind : `${kind} on ${origin.devices}`;
}

/** The experiment's name, marked as such if it is also the word for the kind of run. */
export function runName({ name, kind }: Pick<KnownRun['summary'], 'name' | 'kind'>): string {
  return name === kind ? `experiment ${name}` : name;
}

const COMMANDS = { simulated: ['simulate'], live: ['run', '--mode live'], load: ['load'] } as const;

/** Command that repeats it, on `experiment.yaml`. */
export function commandOf({ summary, origin, overrides }: RunResult): string {
  const [command, ...mode] = COMMANDS[summary.kind];
  return commandLine(command, [...mode, ...(origin?.flags ?? []), ...setFlags(overrides)]);
}

/** Expected result of repeating a run. */
export const WHAT_REPEATS: Readonly<Record<RunKind, string>> = {
  simulated:
    'The same seed, configuration, profiles and version of escapement give the same digest on any machine, and the same digest means the same decisions, one for one. Profiles of ONNX models are measured, so each machine has its own: to repeat the run elsewhere, copy them.',
  live: 'The same requests arrive at the same times; what happens then depends on the machine, so every live run has its own digest. If it wrote a journal (--journal), the replay gives the same digest on any machine.',
  load: 'The same requests are sent at the same times; what happens then depends on the server. A client sees only outcomes and latencies: batches, GPUs, cold starts and decisions were not measured.',
};
