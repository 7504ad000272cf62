import type { Experiment } from '../../../src/config/experiment.js';
import type { Engine } from '../../../src/run/engine.js';
import { run } from '../../../src/run/run.js';
import { SIMULATED, simulate } from '../../../src/run/simulated.js';
import type { Problem } from './checks.js';
import { withBooks } from './fleet-books.js';
import { WatchedRun } from './watched-run.js';
import { WatchedSource } from './watched-source.js';

/** What came of a run that was too long to be kept. */
export interface Watched {
  readonly problem: Problem | null;
  readonly events: number;
  readonly virtualNs: number;
  readonly digest: string;
}

/** Runs an experiment of any length and checks it on the way. `twice`: once more, which must decide the same. */
export async function watch(experiment: Experiment, twice: boolean): Promise<Watched> {
  const watched = new WatchedRun(experiment);
  const engine: Engine = {
    kind: 'simulated',
    drive: (task) => {
      const source = new WatchedSource(task.source, (request) => watched.arrived(request));
      return SIMULATED.drive(withBooks({ ...task, source }, watched.fleet));
    },
  };
  const { result } = await run(experiment, engine, { observer: watched.observer });
  const { digest } = result.summary;
  const again = twice ? (await simulate(experiment)).summary.digest : digest;
  const differs = { check: 'the same run again decides the same', what: `digests ${digest} and ${again}` };
  return {
    problem: watched.finish(result) ?? (again === digest ? null : differs),
    events: watched.sent + watched.answers + watched.parts + 2 * watched.actions,
    virtualNs: watched.endNs,
    digest,
  };
}
