import { EscapementError } from '../../base/errors.js';
import { NS_PER_S } from '../../base/units.js';
import { journaledPolicy } from '../../config/create-policy.js';
import type { Experiment } from '../../config/experiment.js';
import { ABORT, type Action, INFER, LOAD, STATUS_OK } from '../../core/action.js';
import type { Cluster } from '../../core/cluster.js';
import type { Controller } from '../../core/controller.js';
import { timesOfBucket } from '../../core/lengths.js';
import { timesOn } from '../../core/model.js';
import type { Outcome, RequestTable } from '../../core/request.js';
import { replayJournal } from '../../live/journal/replay.js';
import type { LoggedAction } from '../../record/flight/flight.js';
import { runLogs } from '../../record/flight/run-logs.js';
import { PartTally } from '../../record/part-tally.js';
import type { RequestFigures, RunResult } from '../../record/results.js';
import { compareRuns, runNames } from '../../report/compare/compare.js';
import { loadRun } from '../../report/load.js';
import { plural } from '../../text/words.js';

/** Behavior of the machine in a run, as its log of actions shows it. Medians and quantiles: a hiccup changes none. */
export interface Measured {
  /** INFERs that ended well after the warm-up. */
  readonly infers: number;
  /** By name of the model: typical duration of its INFERs relative to the profile, and their number. */
  readonly scale: ReadonlyMap<string, { readonly factor: number; readonly infers: number }>;
  /** Standard deviation of durations relative to the median of the same model and batch size, without stragglers. */
  readonly spread: number;
  /** Share of INFERs that took far longer than that, and how many times as long. */
  readonly stragglers: number;
  readonly stragglerFactor: number;
  /** One-way delay of messages: its constant part, and the mean of the random one. */
  readonly delayNs: number;
  readonly jitterNs: number;
  /** From the end of an action on a lane to the begin of an INFER that waited for it. */
  readonly overheadNs: number;
}

/** Fewer say too little of a distribution. */
const LEAST = 20;
/** Quantile of the normal distribution one standard deviation above the mean. */
const ONE_SIGMA = 0.8413;
/** A straggler exceeds the median by this many standard deviations, and by this share of it. */
const FAR_SIGMAS = 5;
const FAR_SHARE = 0.5;

/** An action of a run, as far as it is measured. */
type MeasuredAction = Pick<
  LoggedAction,
  | ('kind' | 'status' | 'gpu' | 'model' | 'batchSize' | 'paddedLength')
  | ('sentNs' | 'earliestNs' | 'beginNs' | 'endNs' | 'handledNs')
>;

/** Measures the actions of a run of an experiment from `fromNs` on. */
export function measureRun(
  actions: (visit: (action: MeasuredAction) => void) => void,
  experiment: Experiment,
  fromNs: number,
): Measured {
  const profiledNs = profiledBy(experiment);
  const { oneLane } = experiment.cluster;
  /** By model, and within it by kind of GPU, batch size and length. */
  const ratios = experiment.models.map(() => new Map<string, number[]>());
  const lanes: MeasuredAction[][] = [];
  actions((action) => {
    const { kind, status, gpu, model, sentNs } = action;
    if (status !== 0 || sentNs < fromNs || (kind !== INFER && !(oneLane && kind === LOAD))) return;
    lanes[gpu] ??= [];
    lanes[gpu].push(action);
    if (kind !== INFER) return;
    const { key, ns } = profiledNs(action);
    // A server may have sizes that the simulation lacks.
    if (ns === undefined) return;
    const alike = ratios[model]!.get(key) ?? [];
    ratios[model]!.set(key, alike);
    alike.push((action.endNs - action.beginNs) / ns);
  });
  const scale = new Map<string, { factor: number; infers: number }>();
  const around: number[] = [];
  for (const [m, cells] of ratios.entries()) {
    let [infers, sum] = [0, 0];
    for (const cell of cells.values()) {
      const middle = quantile(cell, 0.5);
      infers += cell.length;
      sum += cell.length * middle;
      if (cell.length >= LEAST) for (const ratio of cell) around.push(ratio / middle);
    }
    if (infers > 0) scale.set(experiment.models[m]!.name, { factor: sum / infers, infers });
  }
  const infers = [...scale.values()].reduce((all, one) => all + one.infers, 0);
  return { infers, scale, ...spreadOf(around), ...delaysOf(lanes) };
}

/** Profiled duration of an INFER, and a key that INFERs with the same have in common. */
function profiledBy({ models, cluster: { kinds } }: Experiment) {
  const kindOf = kinds.flatMap(({ gpus }, kind) => new Array<number>(gpus).fill(kind));
  return ({ gpu, model, batchSize, paddedLength = 0 }: MeasuredAction) => {
    const spec = models[model]!;
    const kind = kindOf[gpu] ?? 0;
    const bucket = Math.max(0, spec.lengths?.indexOf(paddedLength) ?? 0);
    const ns = timesOfBucket(timesOn(spec, kind), bucket)[spec.batchSizes.indexOf(batchSize)];
    return { key: `${kind} ${batchSize} ${bucket}`, ns };
  };
}

function spreadOf(around: number[]): Pick<Measured, 'spread' | 'stragglers' | 'stragglerFactor'> {
  if (around.length === 0) return { spread: 0, stragglers: 0, stragglerFactor: 1 };
  const spread = (quantile(around, ONE_SIGMA) - quantile(around, 1 - ONE_SIGMA)) / 2;
  const far = around.filter((ratio) => ratio > 1 + Math.max(FAR_SIGMAS * spread, FAR_SHARE));
  const stragglerFactor = far.length === 0 ? 1 : quantile(far, 0.5);
  return { spread, stragglers: far.length / around.length, stragglerFactor };
}

/**
 * Delays of messages and of lanes. An INFER that found its lane idle began two delays and the overhead before its
 * result came, besides its duration; one that waited long began an overhead after the lane was free. The random part is
 * taken as exponentially distributed: its quantiles are the mean times a logarithm.
 */
function delaysOf(lanes: readonly MeasuredAction[][]): Pick<Measured, 'delayNs' | 'jitterNs' | 'overheadNs'> {
  const back: number[] = [];
  const there: number[] = [];
  const waited: { readonly forNs: number; readonly gapNs: number }[] = [];
  for (const lane of lanes.filter((actions) => actions !== undefined)) {
    let freeNs = Number.NEGATIVE_INFINITY;
    for (const { kind, sentNs, earliestNs, beginNs, endNs, handledNs } of lane.sort(
      (a, b) => a.beginNs - b.beginNs,
    )) {
      const readyNs = Math.max(freeNs, earliestNs);
      freeNs = endNs;
      if (kind !== INFER) continue;
      back.push(handledNs - endNs);
      if (readyNs <= sentNs) there.push(beginNs - sentNs);
      else waited.push({ forNs: readyNs - sentNs, gapNs: beginNs - readyNs });
    }
  }
  if (back.length === 0) return { delayNs: 0, jitterNs: 0, overheadNs: 0 };
  const [backNs, jitterNs] = [
    quantile(back, 0.5),
    Math.max(0, quantile(back, 0.9) - quantile(back, 0.5)) / Math.log(5),
  ];
  const enough = there.length >= LEAST;
  const latestNs = enough ? quantile(there, 0.99) : 0;
  const gaps = waited.flatMap(({ forNs, gapNs }) => (forNs > latestNs ? gapNs : []));
  const thereNs = enough ? quantile(there, 0.5) : null;
  const overheadNs = Math.max(
    0,
    gaps.length >= LEAST ? quantile(gaps, 0.5) : thereNs === null ? 0 : thereNs - backNs,
  );
  const wayNs = thereNs === null ? backNs : (thereNs + backNs - overheadNs) / 2;
  return { delayNs: Math.max(0, wayNs - jitterNs * Math.LN2), jitterNs, overheadNs };
}

/** Value that a share of the values do not exceed. Sorts them. */
function quantile(values: number[], share: number): number {
  values.sort((a, b) => a - b);
  return values[Math.min(values.length - 1, Math.floor(share * values.length))]!;
}

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
  return new Map([
    ['', compared(summary)],
    ...summary.by.model.map((one) => [one.key, compared(one)] as const),
  ]);
}

function compared({ goodputRps, executedLatencyMs: { p50, p99 } }: RequestFigures): Figures {
  return { goodputRps, p50Ms: p50, p99Ms: p99 };
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
    createPolicy: journaledPolicy(path),
    watchers: [
      {
        started: (header, controller) => {
          if (header.spareGpus === 0) sameGpus(path, header.gpus, experiment);
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
  const figures = (of: PartTally, part: number) =>
    compared(of.figures(part, { warmupNs: begunNs, durationNs: lastNs }, false));
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
