import type {
  CellResult,
  FinishedCell,
  LatencyCdf,
  LatencyMs,
  ModelFigures,
  RequestFigures,
  RunParts,
  RunResult,
  RunWindow,
  SweepCell,
  SweepResults,
  TimelineEntry,
  VariedKey,
} from '../../src/record/results.js';
import { failuresOf } from '../record/fixtures.js';

/**
 * Goodput (requests/s) of 15 ResNet-50 on one GPU at 602 requests/s, by SLO (rows, ms) and
 * schedule_ahead (columns, ms), as the published scheduler does it.
 */
const AHEAD_MS = [1, 2, 5, 10, 20, 50];
const GOODPUT: Readonly<Record<number, readonly number[]>> = {
  10: [321.05, 343.5, 362.4, 51.6, 2.95, 0.35],
  25: [426.95, 424.45, 413.55, 393.35, 369.05, 1.3],
  50: [501.85, 500.4, 494.2, 479.5, 448.3, 55.9],
  100: [593.35, 592.5, 589.9, 584.95, 571.7, 508.1],
  250: [602.05, 602.05, 602.05, 602.05, 602.05, 602.05],
  500: [602.05, 602.05, 602.05, 602.05, 602.05, 602.05],
};
const OFFERED_RPS = 602.05;

export interface SweepOptions {
  readonly aheadMs?: readonly number[];
  readonly slosMs?: readonly number[];
  readonly seeds?: readonly number[];
  /** Policies to vary as a third key. */
  readonly policies?: readonly string[];
  /** Ids of cells that fail. */
  readonly failed?: readonly string[];
}

/** A sweep of schedule_ahead × SLO with plausible numbers. */
export function sweepFixture(options: SweepOptions = {}): SweepResults {
  const aheadMs = options.aheadMs ?? AHEAD_MS;
  const slosMs = options.slosMs ?? [10, 25, 50, 100, 250, 500];
  const seeds = options.seeds ?? [1, 2, 3];
  const vary: VariedKey[] = [
    { key: 'policy.scheduleAhead', values: aheadMs.map((ms) => `${ms}ms`) },
    { key: 'slo', values: slosMs.map((ms) => `${ms}ms`) },
    ...(options.policies === undefined ? [] : [{ key: 'policy.kind', values: options.policies }]),
  ];
  return gridFixture({
    vary,
    seeds,
    defaults: { 'policy.scheduleAhead': '10ms', slo: '100ms', 'policy.kind': 'clockwork' },
    failed: options.failed ?? [],
    run: (values, seed) => {
      const aheadOf = Number.parseFloat(values['policy.scheduleAhead'] ?? '10');
      const sloMs = Number.parseFloat(values.slo ?? '100');
      const loss = values['policy.kind'] === 'fifo' ? 0.6 : 1;
      return cellFixture({ sloMs, aheadMs: aheadOf, seed, goodputRps: loss * goodputAt(sloMs, aheadOf) });
    },
  });
}

export interface GridOptions {
  readonly vary: readonly VariedKey[];
  readonly seeds?: readonly number[];
  readonly defaults?: Readonly<Record<string, string>>;
  readonly failed?: readonly string[];
  run(values: Readonly<Record<string, string>>, seed: number): CellResult;
}

/** Any sweep: one cell a combination and seed, seeds fastest. */
export function gridFixture(options: GridOptions): SweepResults {
  const seeds = options.seeds ?? [1];
  let combinations: Record<string, string>[] = [{}];
  for (const { key, values } of options.vary) {
    combinations = combinations.flatMap((left) => values.map((value) => ({ ...left, [key]: value })));
  }
  const cells = combinations.flatMap((values) =>
    seeds.map((seed): SweepCell => {
      const id = [...Object.entries(values).map(([key, value]) => `${key}=${value}`), `seed=${seed}`].join(
        ' ',
      );
      const place = { id, values, seed };
      if (options.failed?.includes(id)) {
        return {
          ...place,
          status: 'failed',
          code: 'E_MODEL_TOO_LARGE',
          message: 'model bert needs 90 pages, the cache has 80',
        };
      }
      return { ...place, status: 'done', result: options.run(values, seed) } satisfies FinishedCell;
    }),
  );
  return {
    version: 7,
    escapement: '1.2.3',
    name: 'schedule-ahead',
    experiment: EXPERIMENT,
    defaults: options.defaults ?? {},
    vary: options.vary,
    seeds,
    cells,
  };
}

export const EXPERIMENT = `# Fifteen ResNet-50 on one GPU </script><b>not markup</b>
seed: 1
cluster: { gpus: 1, pages: 1376 }
models: { kind: csv, path: models_resnet50_v2_x15.csv }
workload: { kind: poisson, rate: 600/s, duration: 20s }
slo: 100ms
policy: { kind: clockwork, scheduleAhead: 10ms, maxBatch: 8, maxExec: 250ms }
`;

export interface CellOptions {
  readonly sloMs: number;
  readonly aheadMs?: number;
  readonly goodputRps: number;
  readonly offeredRps?: number;
  readonly seed?: number;
  readonly gpus?: number;
}

/** One run's result whose parts agree with each other: counts, series, percentiles and a timeline slice. */
export function cellFixture(options: CellOptions): CellResult {
  const seed = options.seed ?? 1;
  const random = randomOf(seed * 7919 + options.sloMs * 31 + (options.aheadMs ?? 0) * 17);
  const offeredRps = (options.offeredRps ?? OFFERED_RPS) * (1 + 0.01 * (random() - 0.5));
  const noise = options.goodputRps >= 600 ? 0 : 0.03;
  const goodputRps = Math.min(offeredRps, options.goodputRps * (1 + noise * (random() - 0.5)));
  const durationSeconds = 20;
  const offered = Math.round(offeredRps * durationSeconds);
  const ok = Math.round(goodputRps * durationSeconds);
  const late = Math.min(offered - ok, goodputRps < offeredRps / 5 ? Math.round((offered - ok) * 0.4) : 0);
  const cdf = cdfFixture(late > 0 ? options.sloMs + 5 : options.sloMs);
  const executedAt = (percentile: number) => cdf.ms[cdf.percentile.indexOf(percentile)] ?? null;
  const offeredAt = (percentile: number) =>
    percentile <= (100 * ok) / offered ? executedAt(percentile) : null;
  return {
    version: 7,
    summary: {
      name: 'schedule-ahead',
      kind: 'simulated',
      seed,
      digest: (0x100000000 + Math.floor(random() * 0xffffffff)).toString(16).padStart(16, '3'),
      policy: 'clockwork',
      durationSeconds,
      requests: { offered, ok, late, timeout: offered - ok - late, rejected: 0, error: 0 },
      offeredRps: offered / durationSeconds,
      goodputRps: ok / durationSeconds,
      attainment: ok / offered,
      worstModel: { name: 'resnet50_v2_4', attainment: ok / offered, offered: Math.round(offered / 15) },
      modelsBelow50: ok / offered < 0.5 ? 15 : 0,
      modelsBelow90: ok / offered < 0.9 ? 15 : 0,
      modelsAssessed: 15,
      rareModels: { models: 0, offered: 0, attainment: null },
      failures: failuresOf({ late, timedOutQueued: offered - ok - late }),
      offeredLatencyMs: latencyFixture(offeredAt, 0.6 * options.sloMs),
      executedLatencyMs: latencyFixture(executedAt, 0.6 * options.sloMs),
      actions: {
        load: 15,
        unload: 0,
        infer: 4300,
        tooLate: 3,
        inferByBatch: { 1: 527, 2: 2058, 4: 1666, 8: 49 },
      },
      coldStarts: 37,
      gpu: { execUtilization: 0.931, weightsUtilization: 0.006 },
      by: { model: [] },
    },
    sloMs: options.sloMs,
    windows: windowsFixture(offeredRps, goodputRps, durationSeconds, random),
    latencyCdf: cutAt((100 * ok) / offered, cdf),
    timeline: timelineFixture(options.gpus ?? 1, options.aheadMs ?? 10, random),
  };
}

/** A fleet of a sweep: what it paid for and reached; a fixed one has no scaler. */
export interface FleetFixture {
  readonly scaler?: string;
  readonly gpus: number;
  readonly attainment: number;
}

/** A sweep over fleets by name. A run is an hour, so GPU-hours are GPUs. */
export function fleetsFixture(fleets: Readonly<Record<string, FleetFixture>>): SweepResults {
  return gridFixture({
    vary: [{ key: 'fleet', values: Object.keys(fleets) }],
    run: ({ fleet = '' }) => {
      const { scaler, gpus, attainment } = fleets[fleet] as FleetFixture;
      const cell = cellFixture({ sloMs: 100, goodputRps: 480 });
      const figures = { gpuHours: gpus, meanGpus: gpus, mostGpus: 9, ordered: 5, stopped: 4 };
      const kind = kindFixture('t4', Math.ceil(gpus));
      const steps = [
        { atSeconds: 0, on: [1], starting: [0], draining: [0] },
        { atSeconds: 5, on: [1], starting: [2], draining: [0] },
        { atSeconds: 9, on: [3], starting: [0], draining: [0] },
      ];
      return {
        ...cell,
        summary: {
          ...cell.summary,
          ...{ durationSeconds: 3600, attainment, by: { model: [], kind: [kind] } },
          cost: { perHour: gpus / 4, perMillionInTime: 1 },
          ...(scaler === undefined ? {} : { scaling: { scaler, ...figures } }),
        },
        ...(scaler === undefined ? {} : { fleet: { kinds: ['t4'], steps } }),
      };
    },
  });
}

/**
 * A sweep of batch concurrency × policy in which fifo has the higher goodput and lets interactive users wait:
 * what `attained` gives for the interactive group; the batch group always meets its SLO.
 */
export function groupedFixture({
  least = 0.29,
  ...options
}: {
  readonly seeds?: readonly number[];
  readonly least?: number;
} = {}): SweepResults {
  const attained: Readonly<Record<string, readonly [number, number]>> = {
    '1': [1, 0.96],
    '16': [0.998, least],
  };
  return gridFixture({
    vary: [
      { key: 'workload.1.concurrency', values: ['1', '16'] },
      { key: 'policy.kind', values: ['clockwork', 'fifo'] },
    ],
    ...options,
    defaults: { 'policy.kind': 'clockwork' },
    run: (values, seed) => {
      const fifo = values['policy.kind'] === 'fifo';
      const share = attained[values['workload.1.concurrency'] as string]?.[fifo ? 1 : 0] as number;
      const cell = cellFixture({ sloMs: 100, seed, goodputRps: fifo ? 500 : 450 });
      const group = [
        groupFixture('interactive', 50, 200, share),
        groupFixture('batch', 500, fifo ? 400 : 250, 1),
      ];
      return { ...withParts(cell, { group }), sloMs: null };
    },
  });
}

/** The run with these parts, too. */
export function withParts<T extends RunResult | CellResult>(run: T, by: Partial<RunParts>): T {
  return { ...run, summary: { ...run.summary, by: { ...run.summary.by, ...by } } };
}

/** A part of a run of which `attained` was answered in time and the rest late, within at most `mostMs`. */
export function partFixture(
  key: string,
  offeredRps: number,
  attained: number,
  mostMs = 50,
): RequestFigures & { readonly key: string; readonly gpuShare: number } {
  const offered = offeredRps * 20;
  const ok = Math.round(offered * attained);
  const isServed = (percent: number) => offered > 0 && percent <= 100 * attained;
  const at = (share: number) => mostMs * share;
  return {
    key,
    gpuShare: offered === 0 ? 0 : 1,
    requests: { offered, ok, late: offered - ok, timeout: 0, rejected: 0, error: 0 },
    offeredRps,
    goodputRps: ok / 20,
    attainment: offered === 0 ? null : ok / offered,
    offeredLatencyMs: latencyFixture((percent) => (isServed(percent) ? at(percent / 100) : null), at(0.3)),
    executedLatencyMs: latencyFixture((percent) => (offered > 0 ? at(percent / 100) : null), at(0.3)),
  };
}

/** A group of users. */
export function groupFixture(key: string, sloMs: number | null, offeredRps: number, attained: number) {
  const none = { percentile: [], ms: [] };
  const latencyCdf = offeredRps * attained > 0 ? cutAt(100 * attained, cdfFixture(sloMs ?? 100)) : none;
  return { ...partFixture(key, offeredRps, attained, sloMs ?? 100), sloMs, latencyCdf };
}

/** GPUs of a kind. */
export function kindFixture(key: string, gpus: number) {
  const { gpuShare: _, ...part } = partFixture(key, 1, 1);
  return { ...part, gpus, infer: 1, execUtilization: 0.5, weightsUtilization: 0 };
}

/** A model with so many requests, of which `ok` were answered in time. */
export function modelFixture(
  id: number,
  key: string,
  offered: number,
  ok: number,
  more: Partial<ModelFigures> = {},
): ModelFigures {
  return { ...partFixture(key, offered / 20, offered === 0 ? 0 : ok / offered), id, ...more };
}

/** Percentiles by `at`, and the mean where there is a largest value. */
function latencyFixture(at: (percent: number) => number | null, mean: number): LatencyMs {
  const [p50, p90, p95, p99, p999, p9999, max] = [50, 90, 95, 99, 99.9, 99.99, 100].map(at);
  return { mean: max == null ? null : mean, p50, p90, p95, p99, p999, p9999, max } as LatencyMs;
}

/** The same with wall figures, as `simulate` writes it. */
export function runFixture(options: CellOptions): RunResult {
  const cell = cellFixture(options);
  const wall = { seconds: 0.31, processedRps: 1_120_000, peakRssBytes: 148_000_000 };
  const summary = { ...cell.summary, by: { model: modelsFixture() }, wall };
  return { ...cell, experiment: EXPERIMENT, summary };
}

/** Three models that failed for several reasons, the last with few requests, and one of which nothing failed. */
function modelsFixture(): ModelFigures[] {
  return [
    modelFixture(4, 'rare', 40, 0, { coldStarts: 40, failures: failuresOf({ timedOutCold: 40 }) }),
    modelFixture(0, 'popular', 4000, 3800, {
      coldStarts: 2,
      failures: failuresOf({ late: 20, timedOutQueued: 150, missedWindow: 30 }),
    }),
    modelFixture(2, 'fine', 100, 100, { coldStarts: 1, failures: failuresOf() }),
    modelFixture(1, 'once', 1, 0, { coldStarts: 0, failures: failuresOf({ refused: 1 }) }),
  ];
}

function goodputAt(sloMs: number, aheadMs: number): number {
  const row = GOODPUT[sloMs] ?? [];
  const right = AHEAD_MS.findIndex((ms) => ms >= aheadMs);
  if (right <= 0) return row[0] ?? 0;
  const share =
    (aheadMs - (AHEAD_MS[right - 1] ?? 0)) / ((AHEAD_MS[right] ?? 1) - (AHEAD_MS[right - 1] ?? 0));
  return (row[right - 1] ?? 0) * (1 - share) + (row[right] ?? 0) * share;
}

function cdfFixture(limitMs: number) {
  const percentile = [...Array(100).keys(), 99.9, 99.99, 100];
  const ms = percentile.map((p) => 4 + (limitMs - 4) * (1 - (1 - Math.min(p, 99.995) / 100) ** 0.28));
  return { percentile, ms };
}

function cutAt(end: number, { percentile, ms }: LatencyCdf): LatencyCdf {
  const kept = percentile.filter((percent) => percent < end);
  return { percentile: [...kept, end], ms: ms.slice(0, kept.length + 1) };
}

function windowsFixture(
  offered: number,
  goodput: number,
  seconds: number,
  random: () => number,
): RunWindow[] {
  return Array.from({ length: seconds }, (_, i) => {
    const factor = 1 + 0.35 * (random() - 0.5);
    const inTime = goodput * (0.5 + 0.5 * factor);
    return {
      ...{ beginSeconds: i, endSeconds: i + 1, offeredRps: Math.round(offered * factor) },
      ...{ goodputRps: Math.round(inTime), failedRps: Math.round(Math.max(0, offered * factor - inTime)) },
      ...{ p99Ms: null, executedP50Ms: 5, executedP99Ms: 9 },
      ...{ execUtilization: 0.9, weightsUtilization: 0.1, loads: i < 3 ? 12 - 4 * i : 0 },
    };
  });
}

function timelineFixture(gpus: number, aheadMs: number, random: () => number): TimelineEntry[] {
  const entries: TimelineEntry[] = [];
  for (let gpu = 0; gpu < gpus; gpu++) {
    for (const [lane, kind, last] of [
      ['WEIGHTS', 'LOAD', 15],
      ['EXEC', 'INFER', 60],
    ] as const) {
      let freeMs = kind === 'LOAD' ? 1 : 9.4;
      for (let i = 0; i < last; i++) {
        const batch = kind === 'LOAD' ? 1 : 2 ** Math.floor(random() * 4);
        const length = kind === 'LOAD' ? 8.37 : 1.206 * batch + 2.575;
        const earliestMs = Math.max(0, freeMs - aheadMs * random());
        const status = kind === 'INFER' && i % 23 === 22 ? 81 : 0;
        const beginMs = freeMs + (random() < 0.1 ? 2 * random() : 0);
        const endMs = status === 0 ? beginMs + length : beginMs;
        entries.push({
          gpu,
          lane,
          kind,
          batch,
          beginMs,
          endMs,
          earliestMs,
          status,
          model: `resnet50_v2_${Math.floor(random() * 15)}`,
          latestMs: Math.max(earliestMs + 1, freeMs) + aheadMs,
          sentMs: earliestMs,
        });
        freeMs = endMs;
      }
    }
  }
  return entries;
}

/** mulberry32: small, seeded, and good enough for made-up numbers. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
