import { EscapementError } from '../../base/errors.js';
import { NS_PER_S } from '../../base/units.js';
import { createJournaledPolicy } from '../../config/create-policy.js';
import type { Experiment } from '../../config/experiment.js';
import { ABORT, type Action, INFER, STATUS_OK } from '../../core/action.js';
import type { Cluster } from '../../core/cluster.js';
import type { Controller } from '../../core/controller.js';
import type { Outcome, RequestTable } from '../../core/request.js';
import { OUTCOME_OK } from '../../core/request.js';
import { replayJournal } from '../../live/journal/replay.js';
import { runLogs } from '../../record/flight/run-logs.js';
import { latencyMs } from '../../record/latency.js';
import { PartTally } from '../../record/part-tally.js';
import type { RequestFigures, RunResult } from '../../record/results.js';
import { compareRuns } from '../../report/compare/compare.js';
import { runNames } from '../../report/compare/named-run.js';
import { loadRun } from '../../report/load.js';
import { plural } from '../../text/words.js';
import { type Measured, type MeasuredAction, measureRun } from './measure.js';

/** Figures of all requests or those of a model; null: nothing to measure. */
export interface Figures {
  readonly goodputRps: number | null;
  /** Executed requests only. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

/** Figures and behavior of a live system, by its own record. */
interface LiveRecord {
  /** By name of the model; empty: all. */
  readonly figures: ReadonlyMap<string, Figures>;
  readonly measured: Measured;
  /** Reasons to trust it less, a line each. */
  readonly warnings: readonly string[];
}

/** A simulation to compare with. */
interface Compared {
  readonly run: RunResult;
  readonly dir: string;
  readonly experiment: Experiment;
  /** Warm-up. */
  readonly fromNs: number;
}

export function figuresOf({ summary }: RunResult): Map<string, Figures> {
  const figures = ({ goodputRps, executedLatencyMs: { p50, p99 } }: RequestFigures): Figures => ({
    ...{ goodputRps, p50Ms: p50, p99Ms: p99 },
  });
  return new Map([
    ['', figures(summary)],
    ...summary.by.model.map((one) => [one.key, figures(one)] as const),
  ]);
}

/** Record in the folder of a run. Throws `E_RESULTS` if it is of another experiment. */
export function recordOfRun(dir: string, { run: other, dir: otherDir, experiment }: Compared): LiveRecord {
  const run = loadRun(dir);
  const { models } = experiment;
  const own = [...run.summary.by.model].sort((a, b) => a.id - b.id);
  const strange = own.find(({ id, key }) => models[id]?.name !== key);
  if (strange !== undefined) {
    const { id, key } = strange;
    refuse(dir, `its model ${id} is ${key}, that of the simulation ${models[id]?.name ?? 'none'}`);
  }
  const { gpus } = run.setup ?? {};
  if (gpus !== undefined) sameGpus(dir, gpus, experiment);
  const names = runNames([dir, otherDir]);
  return {
    figures: figuresOf(run),
    measured: measureRun(runLogs(dir, run).actions, experiment, run.windows[0].beginSeconds * NS_PER_S),
    warnings: compareRuns([run, other].map((one, i) => ({ name: names[i]!, run: one }))).warnings,
  };
}

/** Record in the journal of a server or a run, replayed. Throws `E_RESULTS`, `E_PLUGIN`, and the errors of a replay. */
export async function recordOfJournal(path: string, { experiment, fromNs }: Compared): Promise<LiveRecord> {
  const ids = new Map(experiment.models.map(({ name }, id) => [name, id]));
  const tally = new PartTally(experiment.models.length);
  const actions: MeasuredAction[] = [];
  const unknown = new Set<string>();
  let core!: Controller;
  /** A server may have waited long for its first request, from which on the warm-up counts. */
  let begunNs = Number.POSITIVE_INFINITY;
  let lastNs = 0;
  /** Model of the experiment with the same name as a model of the journal; −1: none. */
  const modelOf = (slot: number) => {
    const { name } = core.cluster.models[slot]!;
    const id = ids.get(name);
    if (id === undefined) unknown.add(name);
    return id ?? -1;
  };
  await replayJournal(path, {
    createPolicy: (header, context) => {
      if (header.spareGpus === 0) sameGpus(path, header.gpus, experiment);
      return createJournaledPolicy(header.policy, path)(context);
    },
    watchers: [
      {
        started: (_, controller) => {
          core = controller;
        },
      },
    ],
    observer: {
      answered(requests: RequestTable, slot: number, outcome: Outcome, nowNs: number) {
        if (core.isPipeline(requests.model[slot]!)) return;
        const arrivalNs = requests.arrivalNs[slot]!;
        const model = modelOf(requests.model[slot]!);
        begunNs = Math.min(begunNs, arrivalNs + fromNs);
        if (model < 0 || arrivalNs < begunNs) return;
        lastNs = Math.max(lastNs, arrivalNs);
        tally.add(model, outcome, nowNs - arrivalNs, -1, false);
      },
      completed(action: Action, nowNs: number) {
        if (action.kind === ABORT || action.status !== STATUS_OK) return;
        const model = modelOf(action.model);
        if (model >= 0) actions.push(logged(action, model, core.cluster, nowNs));
      },
    },
  });
  if (unknown.size === core.cluster.models.length)
    refuse(path, `its models are ${[...unknown].join(', ')}, none of them simulated`);
  const seconds = (lastNs - begunNs) / NS_PER_S;
  const figures = (of: PartTally, part: number): Figures => {
    const executed = of.executed(part);
    const { p50: p50Ms, p99: p99Ms } = latencyMs(executed, executed.count);
    return { goodputRps: of.countOf(part, OUTCOME_OK) / seconds, p50Ms, p99Ms };
  };
  return {
    figures: new Map([
      ['', figures(tally.total(), 0)],
      ...experiment.models.map(({ name }, id) => [name, figures(tally, id)] as const),
    ]),
    measured: measureRun((visit) => actions.forEach(visit), experiment, begunNs),
    warnings: unknown.size === 0 ? [] : [`not simulated, and left out: ${[...unknown].join(', ')}`],
  };
}

/** An action in a journal, as logs have it. */
function logged(action: Action, model: number, { models }: Cluster, handledNs: number): MeasuredAction {
  const { kind, status, gpu, batchSize, bucket, sentNs, earliestNs, beginNs, endNs } = action;
  const paddedLength = kind === INFER ? models[action.model]!.lengths?.[bucket] : undefined;
  return {
    ...{ kind, status, gpu, model, batchSize, sentNs, earliestNs, beginNs, endNs, handledNs },
    ...(paddedLength !== undefined && { paddedLength }),
  };
}

function sameGpus(file: string, gpus: number, { cluster }: Experiment): void {
  if (gpus !== cluster.gpus) refuse(file, `has ${plural(gpus, 'GPU')}, the simulation ${cluster.gpus}`);
}

function refuse(file: string, what: string): never {
  throw new EscapementError('E_RESULTS', `${what}: simulate the experiment that ran live`, { file });
}
