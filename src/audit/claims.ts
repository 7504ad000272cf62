import { NS_PER_MS, NS_PER_S } from '../base/units.js';
import type { ActionAudit } from './action-audit.js';
import type { FleetAudit } from './fleet.js';
import { Latencies } from './latencies.js';
import { FURTHER_COUNTS, OUTCOMES, type RequestAudit, Tally } from './request-audit.js';
import type { Figures, RunFacts } from './run-facts.js';
import type { SharesOf } from './served.js';

/** A figure of run.json and its value recomputed from the logs. */
export interface Claim {
  readonly figure: string;
  readonly claimed: number | null;
  readonly recomputed: number | null;
  readonly ok: boolean;
}

/** Tolerance for ratios, whose roundings may differ in order. */
const SAME = 1e-9;
/** Tolerance for percentiles: those of a summary are off by up to 0.05 %, those of `Latencies` by 0.005 %. */
const PERCENTILE = 5.6e-4;
/** Tolerance for durations, which a summary has in whole ns. */
const ROUNDING_MS = 1 / NS_PER_MS;

const PERCENTILES = [
  ['p50', 0.5],
  ['p90', 0.9],
  ['p95', 0.95],
  ['p99', 0.99],
  ['p999', 0.999],
  ['p9999', 0.9999],
] as const;

/** Tolerance for percentiles of a model: those of a summary are off by up to 0.8 %. */
const MODEL_PERCENTILE = 8e-3;

/** Compares the figures that run.json claims of requests with tallies of the log. */
export function requestClaims({ summary }: RunFacts, requests: RequestAudit): Claim[] {
  const all = sum([...requests.by.group.values()]);
  return [
    ...figures('', summary, all, summary.durationSeconds),
    ...(summary.cancelled === undefined && requests.cancelled === 0
      ? []
      : [exact('cancelled', summary.cancelled ?? 0, requests.cancelled)]),
    ...weightedClaims(summary, requests),
    ...percentileClaims(summary, all),
    ...partClaims(summary, requests),
  ];
}

/** Claims about the parts of a run; of models only wrong ones, as there may be thousands. */
function partClaims({ by, durationSeconds }: RunFacts['summary'], requests: RequestAudit): Claim[] {
  const { group = [], class: classes = [], tenant = [], length = [], pipeline = [], step = [], model } = by;
  const claims = (
    dimension: keyof RequestAudit['by'],
    parts: readonly (Figures & { readonly key: string })[],
    numberOf: (part: number) => number = (part) => part,
  ) =>
    parts.flatMap((each, i) => {
      const tally = requests.by[dimension].get(numberOf(i)) ?? new Tally();
      const prefix = `${dimension} ${each.key}: `;
      const tolerance = dimension === 'model' ? MODEL_PERCENTILE : PERCENTILE;
      return [
        ...figures(prefix, each, tally, durationSeconds, tolerance),
        ...(requests.namesLimits && each.failures !== undefined
          ? [
              exact(`${prefix}overRate`, each.failures.overRate, tally.overRate),
              exact(`${prefix}overShare`, each.failures.overShare, tally.overShare),
            ]
          : []),
      ];
    });
  return [
    ...(group.length === requests.by.group.size ? claims('group', group) : []),
    ...claims('class', classes),
    ...claims('tenant', tenant),
    ...claims('pipeline', pipeline),
    ...claims('step', step),
    ...claims('length', length, (i) => Number(length[i].key)),
    ...claims('model', model, (i) => model[i].id).filter(({ ok }) => !ok),
  ];
}

/** Claims about all requests by the weights of their classes. */
function weightedClaims(summary: RunFacts['summary'], { by }: RequestAudit): Claim[] {
  const { durationSeconds: seconds } = summary;
  const { class: classes = [] } = summary.by;
  if (classes.length === 0) return [];
  const weigh = (of: 'offered' | 'ok') =>
    classes.reduce((total, { weight }, i) => total + weight * (by.class.get(i)?.[of] ?? 0), 0);
  const [offered, ok] = [weigh('offered'), weigh('ok')];
  return [
    ratio('weightedOfferedRps', summary.weightedOfferedRps ?? null, per(offered, seconds)),
    ratio('weightedGoodputRps', summary.weightedGoodputRps ?? null, per(ok, seconds)),
    ratio('weightedAttainment', summary.weightedAttainment ?? null, per(ok, offered)),
  ];
}

/** Claims about the share of GPU time of each class and each tenant. */
export function shareClaims({ summary }: RunFacts, shares: SharesOf): Claim[] {
  return (['class', 'tenant'] as const).flatMap((kind) =>
    (summary.by[kind] ?? []).flatMap(({ key, gpuShare }, i) =>
      gpuShare == null ? [] : [ratio(`${kind} ${key}: gpuShare`, gpuShare, shares[kind]!.of(i))],
    ),
  );
}

/** Claims about a fleet whose GPUs come and go. */
export function fleetClaims({ summary, windows }: RunFacts, fleet: FleetAudit): Claim[] {
  const { scaling, durationSeconds } = summary;
  if (scaling === undefined) return [];
  const [fromNs, toNs] = countedNs(windows[0].beginSeconds, durationSeconds);
  const paidNs = fleet.paidNs(fromNs, toNs);
  return [
    ratio('gpuHours', scaling.gpuHours, paidNs / (3600 * NS_PER_S)),
    ratio('meanGpus', scaling.meanGpus, per(paidNs, toNs - fromNs)),
  ];
}

export function countedNs(beginSeconds: number, durationSeconds: number): [number, number] {
  const fromNs = Math.round(beginSeconds * NS_PER_S);
  return [fromNs, fromNs + Math.round(durationSeconds * NS_PER_S)];
}

/** Claims about actions. `fleet`: null if all GPUs are there throughout. */
export function actionClaims(
  { summary, setup, windows }: RunFacts,
  actions: ActionAudit,
  fleet: FleetAudit | null,
): Claim[] {
  if (summary.actions === undefined) return [];
  const { load, unload, infer, tooLate, inferByBatch } = summary.actions;
  const sizes = new Set([...Object.keys(inferByBatch).map(Number), ...actions.inferByBatch.keys()]);
  const laneNs =
    fleet === null
      ? (setup?.gpus ?? 0) * summary.durationSeconds * NS_PER_S
      : fleet.onNs(...countedNs(windows[0].beginSeconds, summary.durationSeconds));
  const busy = (figure: string, claimed: number | null, busyNs: number): Claim => {
    const share = per(busyNs, laneNs);
    if (claimed === null || share === null) return ratio(figure, claimed, share);
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
    ...(setup?.gpus === undefined || summary.gpu === undefined
      ? []
      : [
          busy('execUtilization', summary.gpu.execUtilization, actions.execBusyNs),
          busy('weightsUtilization', summary.gpu.weightsUtilization, actions.weightsBusyNs),
        ]),
  ];
}

function figures(
  prefix: string,
  claimed: Figures,
  tally: Tally,
  seconds: number,
  tolerance = PERCENTILE,
): Claim[] {
  const { requests } = claimed;
  const executed = executedOf(tally);
  return [
    ...(['offered', ...OUTCOMES] as const).map((name) =>
      exact(`${prefix}${name}`, requests[name], tally[name]),
    ),
    ratio(`${prefix}offeredRps`, claimed.offeredRps, per(tally.offered, seconds)),
    ratio(`${prefix}goodputRps`, claimed.goodputRps, per(tally.ok, seconds)),
    ratio(`${prefix}attainment`, claimed.attainment, per(tally.ok, tally.offered)),
    ...FURTHER_COUNTS.flatMap((name) =>
      claimed[name] === undefined ? [] : exact(`${prefix}${name}`, claimed[name], tally[name]),
    ),
    ...latencyClaims(`${prefix}offered `, claimed.offeredLatencyMs, tally.inTime, tally.offered, tolerance),
    ...latencyClaims(`${prefix}executed `, claimed.executedLatencyMs, executed, executed.count, tolerance),
  ];
}

/** Claims about latencies of `all` requests; those missing in `latencies` were never answered in time. */
function latencyClaims(
  prefix: string,
  claimed: Figures['offeredLatencyMs'],
  latencies: Latencies,
  all: number,
  tolerance: number,
): Claim[] {
  const complete = latencies.count === all;
  return [
    duration(`${prefix}mean ms`, claimed.mean, complete ? latencies.meanNs : null, SAME),
    ...PERCENTILES.map(([name, share]) =>
      duration(`${prefix}${name} ms`, claimed[name], latencies.quantileNs(share, all), tolerance),
    ),
    duration(`${prefix}max ms`, claimed.max, complete ? latencies.largestNs : null, SAME),
  ];
}

/** Claims about the percentiles requested for the run. */
function percentileClaims({ percentiles = [] }: RunFacts['summary'], tally: Tally): Claim[] {
  const executed = executedOf(tally);
  return percentiles.flatMap(({ percentile, offeredMs, executedMs }) => {
    const ofOffered = tally.inTime.quantileNs(percentile / 100, tally.offered);
    const ofExecuted = executed.quantileNs(percentile / 100, executed.count);
    return [
      duration(`offered p${percentile} ms`, offeredMs, ofOffered, PERCENTILE),
      duration(`executed p${percentile} ms`, executedMs, ofExecuted, PERCENTILE),
    ];
  });
}

function executedOf({ inTime, tooLate }: Tally): Latencies {
  const executed = new Latencies();
  executed.addAll(inTime);
  executed.addAll(tooLate);
  return executed;
}

function sum(tallies: readonly Tally[]): Tally {
  const all = new Tally();
  for (const tally of tallies) {
    for (const name of [...OUTCOMES, ...FURTHER_COUNTS]) all[name] += tally[name];
    all.inTime.addAll(tally.inTime);
    all.tooLate.addAll(tally.tooLate);
  }
  return all;
}

/** Null: a share of nothing and a rate over no time are no figures. */
function per(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}

export function exact(figure: string, claimed: number, recomputed: number): Claim {
  return { figure, claimed, recomputed, ok: claimed === recomputed };
}

/** A claim that holds up to rounding. */
export function ratio(figure: string, claimed: number | null, recomputed: number | null): Claim {
  const ok =
    claimed === null || recomputed === null ? claimed === recomputed : near(claimed, recomputed, SAME);
  return { figure, claimed, recomputed, ok };
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
