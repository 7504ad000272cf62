import type { DrawnRun, RunOrigin, RunResult } from '../record/results.js';
import { commandLine, setFlags } from './reproduce.js';

type KnownRun = Pick<DrawnRun, 'summary'> & { readonly origin?: RunOrigin };

/** Kind of a run in a few words: `simulated`, `live on 2 × cpu` or `load against http://127.0.0.1:8000`. */
export function kindText({ summary, origin }: KnownRun): string {
  switch (summary.kind) {
    case 'simulated':
      return 'simulated';
    case 'live':
      return origin?.devices === undefined ? 'live' : `live on ${origin.devices}`;
    case 'load':
      return origin?.url === undefined ? 'load against a server' : `load against ${origin.url}`;
  }
}

/** The experiment's name, marked as such if it is also the word for the kind of run. */
export function runName({ name, kind }: Pick<KnownRun['summary'], 'name' | 'kind'>): string {
  return name === kind ? `experiment ${name}` : name;
}

/** Command that repeats it, on `experiment.yaml`. */
export function commandOf({ summary, origin, overrides }: RunResult): string {
  const flags = [...(origin?.flags ?? []), ...setFlags(overrides)];
  switch (summary.kind) {
    case 'simulated':
      return commandLine('simulate', flags);
    case 'live':
      return commandLine('run', ['--mode live', ...flags]);
    case 'load':
      return commandLine('load', flags);
  }
}

/** Expected result of repeating it. */
export function whatRepeats({ summary }: KnownRun): string {
  switch (summary.kind) {
    case 'simulated':
      return 'The same seed, configuration, profiles and version of escapement give the same digest on any machine, and the same digest means the same decisions, one for one. Profiles of ONNX models are measured, so each machine has its own: to repeat the run elsewhere, copy them.';
    case 'live':
      return 'The same requests arrive at the same times; what happens then depends on the machine, so every live run has its own digest. If it wrote a journal (--journal), the replay gives the same digest on any machine.';
    case 'load':
      return 'The same requests are sent at the same times; what happens then depends on the server. A client sees only outcomes and latencies: batches, GPUs, cold starts and decisions were not measured.';
  }
}
