import type { DrawnRun, RunKind, RunOrigin, RunResult } from '../record/results.js';
import { commandLine, setFlags } from './reproduce.js';

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
