import { NS_PER_MS, NS_PER_S } from '../core/units.js';
import type { ActionAudit } from './action-audit.js';
import { type RequestAudit, Tally } from './request-audit.js';
import type { Figures, RunFacts } from './run-facts.js';

/** A figure of run.json beside what the logs say. */
export interface Claim {
  readonly figure: string;
  readonly claimed: number | null;
  readonly recomputed: number | null;
  readonly ok: boolean;
}

/** Ratios are the same up to the order of their roundings. */
const SAME = 1e-9;
/** Percentiles in a summary are off by up to 0.05 %, those of `Latencies` by 0.005 %. */
const PERCENTILE = 5.6e-4;
/** A summary has durations in whole ns. */
const ROUNDING_MS = 1 / NS_PER_MS;

/** Models with fewer requests are left out of `worstModelAttainment`. */
const FEWEST_REQUESTS = 20;

const PERCENTILES = [
  ['p50', 0.5],
  ['p90', 0.9],
  ['p99', 0.99],
  ['p999', 0.999],
  ['p9999', 0.9999],
] as const;

/** Holds the figures that run.json claims of requests against the tallies of its groups. */
export function requestClaims({ summary, groups }: RunFacts, requests: RequestAudit): Claim[] {
  const { tallies } = requests;
  const all = sum(tallies);
  return [
    ...figures('', summary, all, summary.durationSeconds),
    exact('coldStarts', summary.coldStarts, all.coldStarts),
    ...fairness(summary, requests, all.offered === 0 ? 0 : all.ok / all.offered),
    ...(groups.length === tallies.length
      ? groups.flatMap((group, i) => figures(`${group.name}: `, group, tallies[i], summary.durationSeconds))
      : []),
  ];
}

/** The same of actions. */
export function actionClaims({ summary, setup }: RunFacts, actions: ActionAudit): Claim[] {
  const { load, unload, infer, tooLate, inferByBatch } = summary.actions;
  const sizes = new Set([...Object.keys(inferByBatch).map(Number), ...actions.inferByBatch.keys()]);
  const laneNs = (setup?.gpus ?? 0) * summary.durationSeconds * NS_PER_S;
  const busy = (figure: string, claimed: number, busyNs: number): Claim => {
    const share = busyNs / laneNs;
    const most = share + actions.untoldBusyNs / laneNs;
    const ok = share <= claimed * (1 + SAME) && claimed <= most * (1 + SAME);
    return { figure, claimed, recomputed: share, ok };
  };
  return [
    exact('load', load, actions.load),
    exact('unload', unload, actions.unload),
    exact('infer', infer, actions.infer),
    exact('tooLate', tooLate, actions.tooLate),
    ...[...sizes]
      .sort((a, b) => a - b)
      .map((size) =>
        exact(`inferByBatch ${size}`, inferByBatch[size] ?? 0, actions.inferByBatch.get(size) ?? 0),
      ),
    ...(setup === undefined
      ? []
      : [
          busy('execUtilization', summary.gpu.execUtilization, actions.execBusyNs),
          busy('weightsUtilization', summary.gpu.weightsUtilization, actions.weightsBusyNs),
        ]),
  ];
}

function figures(prefix: string, claimed: Figures, tally: Tally, seconds: number): Claim[] {
  const { requests, latencyMs } = claimed;
  const { latencies } = tally;
  const percentile = ([name, share]: (typeof PERCENTILES)[number]) =>
    duration(`${prefix}${name} ms`, latencyMs[name], latencies.quantileNs(share), PERCENTILE);
  return [
    ...(['offered', 'ok', 'late', 'timeout', 'rejected', 'error'] as const).map((name) =>
      exact(`${prefix}${name}`, requests[name], tally[name]),
    ),
    ratio(`${prefix}offeredRps`, claimed.offeredRps, tally.offered / seconds),
    ratio(`${prefix}goodputRps`, claimed.goodputRps, tally.ok / seconds),
    ratio(
      `${prefix}sloAttainment`,
      claimed.sloAttainment,
      tally.offered === 0 ? 0 : tally.ok / tally.offered,
    ),
    duration(`${prefix}mean ms`, latencyMs.mean, latencies.meanNs, SAME),
    ...PERCENTILES.map(percentile),
    duration(`${prefix}max ms`, latencyMs.max, latencies.largestNs, SAME),
  ];
}

/** How the models were treated that had enough requests to tell. */
function fairness(
  { worstModelAttainment: worst, modelsBelowHalf: belowHalf }: RunFacts['summary'],
  { offeredByModel, okByModel }: RequestAudit,
  overall: number,
): Claim[] {
  if (worst === undefined || belowHalf === undefined) return [];
  const shares = offeredByModel.flatMap((offered, model) =>
    offered < FEWEST_REQUESTS ? [] : [okByModel[model] / offered],
  );
  const recomputed = shares.reduce<number | null>((low, share) => Math.min(low ?? 1, share), null);
  const ok = worst === null || recomputed === null ? worst === recomputed : near(worst, recomputed, SAME);
  return [
    { figure: 'worstModelAttainment', claimed: worst, recomputed, ok },
    exact('modelsBelowHalf', belowHalf, shares.filter((share) => share < overall / 2).length),
  ];
}

function sum(tallies: readonly Tally[]): Tally {
  const all = new Tally();
  for (const tally of tallies) {
    all.ok += tally.ok;
    all.late += tally.late;
    all.timeout += tally.timeout;
    all.rejected += tally.rejected;
    all.error += tally.error;
    all.coldStarts += tally.coldStarts;
    all.latencies.addAll(tally.latencies);
  }
  return all;
}

function exact(figure: string, claimed: number, recomputed: number): Claim {
  return { figure, claimed, recomputed, ok: claimed === recomputed };
}

function ratio(figure: string, claimed: number, recomputed: number): Claim {
  return { figure, claimed, recomputed, ok: near(claimed, recomputed, SAME) };
}

function duration(figure: string, claimed: number | null, ns: number | null, tolerance: number): Claim {
  const recomputed = ns === null ? null : ns / NS_PER_MS;
  const ok =
    claimed === null || recomputed === null
      ? claimed === recomputed
      : nearDuration(claimed, recomputed, tolerance);
  return { figure, claimed, recomputed, ok };
}

function near(a: number, b: number, tolerance: number): boolean {
  return Math.abs(a - b) <= tolerance * Math.max(Math.abs(a), Math.abs(b));
}

function nearDuration(a: number, b: number, tolerance: number): boolean {
  return Math.abs(a - b) <= ROUNDING_MS || near(a, b, tolerance);
}
