import type { Experiment } from '../../config/experiment.js';
import { INFER, LOAD } from '../../core/action.js';
import { timesOfBucket } from '../../core/lengths.js';
import { timesOn } from '../../core/model.js';
import type { LoggedAction } from '../../record/flight/run-rows.js';

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
export type MeasuredAction = Pick<
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
