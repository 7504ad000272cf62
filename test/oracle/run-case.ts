import { ACTION_NAMES, INFER, LOAD, UNLOAD } from '../../src/core/action.js';
import type { ModelSpec } from '../../src/core/model.js';
import { OUTCOME_NAMES, OUTCOME_OK } from '../../src/core/request.js';
import { Simulator, type SimulatorOptions } from '../../src/sim/index.js';
import { createPolicy, ListSource, MS } from '../sim/fixtures.js';
import type { LoggedAction } from './shared-data.js';

/** What a case of the reference configures. Everything else is as in all cases: no noise, no delay. */
export interface OracleCase {
  readonly models: readonly ModelSpec[];
  /** (arrival in ns, model) in order of time. */
  readonly arrivals: readonly (readonly [number, number])[];
  readonly gpus: number;
  readonly pages: number;
  readonly sloNs: number;
  readonly scheduleAheadNs: number;
  readonly latestDeltaNs: number;
  readonly maxBatch: number;
}

export interface CaseResult {
  readonly ok: number;
  readonly loads: number;
  readonly unloads: number;
  readonly infersByBatch: readonly number[];
  /** In the order they were sent. */
  readonly actions: readonly LoggedAction[];
  /** In order of arrival. */
  readonly requests: readonly { readonly outcome: string; readonly latencyNs: number }[];
}

const BATCHES = [1, 2, 4, 8];
const MAX_EXEC_NS = 250 * MS;

/** What decides: the policy `clockwork`, unless another is given. */
type MakePolicy = (options: {
  readonly scheduleAheadNs: number;
  readonly latestDeltaNs: number;
  readonly maxBatch: number;
  readonly maxExecNs: number;
}) => SimulatorOptions['createPolicy'];

export async function runCase(given: OracleCase, make: MakePolicy = ours): Promise<CaseResult> {
  const { models, gpus, pages, sloNs, scheduleAheadNs, latestDeltaNs, maxBatch } = given;
  const actions: LoggedAction[] = [];
  const requests: { outcome: string; latencyNs: number }[] = [];
  let ok = 0;
  const simulator = new Simulator({
    models,
    gpus,
    pages,
    defaultSloNs: sloNs,
    seed: 1,
    createPolicy: make({ scheduleAheadNs, latestDeltaNs, maxBatch, maxExecNs: MAX_EXEC_NS }),
    source: new ListSource(given.arrivals.map(([timeNs, model]) => ({ timeNs, model, sloNs }))),
    observer: {
      answered: (table, slot, outcome, nowNs) => {
        if (outcome === OUTCOME_OK) ok++;
        requests[table.id[slot]] = {
          outcome: OUTCOME_NAMES[outcome],
          latencyNs: nowNs - table.arrivalNs[slot],
        };
      },
      completed: ({ id, kind, gpu, model, batchSize, sentNs }) => {
        actions[id] = { kind: ACTION_NAMES[kind], gpu, model, batch: batchSize, sentNs };
      },
    },
  });
  await simulator.run();
  const count = (kind: number, batch: number) =>
    actions.filter((action) => action.kind === ACTION_NAMES[kind] && action.batch === batch).length;
  return {
    ok,
    loads: count(LOAD, 1),
    unloads: count(UNLOAD, 1),
    infersByBatch: BATCHES.map((batch) => count(INFER, batch)),
    actions,
    requests,
  };
}

const ours: MakePolicy = ({ scheduleAheadNs, latestDeltaNs, maxBatch, maxExecNs }) =>
  createPolicy('clockwork', {
    scheduleAhead: scheduleAheadNs,
    latestDelta: latestDeltaNs,
    maxBatch,
    maxExec: maxExecNs,
  });

/** Clocks of the two may differ by the rounding of an estimate. */
const SAME_INSTANT_NS = 100;

export interface Agreement {
  /** Actions up to the first that differs. */
  readonly leading: number;
  /** Actions that both sent at the same time, whatever else they did. */
  readonly common: number;
}

/** How far two sequences of decisions agree in kind, GPU, model, batch size and time. */
export function agreement(ours: readonly LoggedAction[], theirs: readonly LoggedAction[]): Agreement {
  let leading = 0;
  while (leading < Math.min(ours.length, theirs.length) && isSame(ours[leading], theirs[leading])) leading++;
  const unmatched = new Map<string, number[]>();
  for (const action of theirs) {
    const times = unmatched.get(what(action)) ?? [];
    times.push(action.sentNs);
    unmatched.set(what(action), times);
  }
  let common = 0;
  for (const action of ours) {
    const times = unmatched.get(what(action)) ?? [];
    const at = times.findIndex((sentNs) => Math.abs(sentNs - action.sentNs) <= SAME_INSTANT_NS);
    if (at < 0) continue;
    times.splice(at, 1);
    common++;
  }
  return { leading, common };
}

function isSame(a: LoggedAction, b: LoggedAction): boolean {
  return what(a) === what(b) && Math.abs(a.sentNs - b.sentNs) <= SAME_INSTANT_NS;
}

function what({ kind, gpu, model, batch }: LoggedAction): string {
  return `${kind} ${gpu} ${model} ${batch}`;
}
