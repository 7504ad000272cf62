import { gpuHoursOf, offeredMs } from '../../record/figures.js';
import { LATENCY_NAMES } from '../../record/percentiles.js';
import type { CellResult, LatencyMs, SweepCell, SweepResults } from '../../record/results.js';
import { csvText } from '../../text/csv.js';

/** `results.csv`: a header and one row per cell: varied keys as written, seed, outcome, figures. */
export function resultsCsv(results: SweepResults): string {
  const keys = results.vary.map(({ key }) => key);
  const figures = {
    ...FIGURES,
    ...sampleFigure(results.cells),
    ...fleetFigures(results.cells),
    ...classFigures(results.cells),
    ...tenantFigures(results.cells),
  };
  const fields = [...keys, 'seed', 'status', ...Object.keys(figures), 'code', 'message'];
  return csvText(
    fields,
    results.cells.map((cell) => row(cell, keys, Object.values(figures))),
  );
}

type Figure = (result: CellResult) => number | string | null;

/** Columns in order. Names follow `summary.json`, with the unit last. */
const FIGURES: Readonly<Record<string, Figure>> = {
  goodput_rps: ({ summary }) => summary.goodputRps,
  attainment: ({ summary }) => summary.attainment,
  offered_rps: ({ summary }) => summary.offeredRps,
  offered: ({ summary }) => summary.requests.offered,
  ok: ({ summary }) => summary.requests.ok,
  late: ({ summary }) => summary.requests.late,
  timeout: ({ summary }) => summary.requests.timeout,
  rejected: ({ summary }) => summary.requests.rejected,
  error: ({ summary }) => summary.requests.error,
  ...latencyFigures('offered', ({ summary }, name) => latencyCell(offeredMs(summary, name))),
  ...latencyFigures('executed', ({ summary }, name) => summary.executedLatencyMs[name]),
  worst_model: ({ summary }) => summary.worstModel?.name ?? null,
  worst_model_attainment: ({ summary }) => summary.worstModel?.attainment ?? null,
  models_below_50: ({ summary }) => summary.modelsBelow50,
  models_below_90: ({ summary }) => summary.modelsBelow90,
  models_assessed: ({ summary }) => summary.modelsAssessed,
  rare_models: ({ summary }) => summary.rareModels.models,
  rare_models_offered: ({ summary }) => summary.rareModels.offered,
  rare_models_attainment: ({ summary }) => summary.rareModels.attainment,
  timed_out_cold: ({ summary }) => summary.failures?.timedOutCold ?? null,
  timed_out_queued: ({ summary }) => summary.failures?.timedOutQueued ?? null,
  missed_window: ({ summary }) => summary.failures?.missedWindow ?? null,
  device_error: ({ summary }) => summary.failures?.deviceError ?? null,
  worker_lost: ({ summary }) => summary.failures?.workerLost ?? null,
  load: ({ summary }) => summary.actions.load,
  unload: ({ summary }) => summary.actions.unload,
  infer: ({ summary }) => summary.actions.infer,
  too_late: ({ summary }) => summary.actions.tooLate,
  cold_starts: ({ summary }) => summary.coldStarts,
  exec_utilization: ({ summary }) => summary.gpu.execUtilization,
  weights_utilization: ({ summary }) => summary.gpu.weightsUtilization,
  digest: ({ summary }) => summary.digest,
  bound_rps: ({ bound }) => bound?.bestRps ?? null,
};

/** One column per latency of a summary. */
function latencyFigures(
  reading: 'offered' | 'executed',
  read: (result: CellResult, name: keyof LatencyMs) => number | string | null,
): Record<string, Figure> {
  const names = Object.keys(LATENCY_NAMES) as (keyof LatencyMs)[];
  return Object.fromEntries(
    names.map((name) => [`${reading}_latency_${name}_ms`, (result: CellResult) => read(result, name)]),
  );
}

/** Marks runs that no seed changes, if there are any. */
function sampleFigure(cells: readonly SweepCell[]): Record<string, Figure> {
  const some = cells.some((cell) => cell.status === 'done' && cell.result.slices !== undefined);
  return some ? { one_sample: ({ slices }) => (slices === undefined ? 'no' : 'yes') } : {};
}

/** Costs of GPUs, if known. */
function fleetFigures(cells: readonly SweepCell[]): Record<string, Figure> {
  const summaries = cells.flatMap((cell) => (cell.status === 'done' ? cell.result.summary : []));
  return {
    ...(summaries.some((summary) => gpuHoursOf(summary) !== null)
      ? { gpu_hours: ({ summary }) => gpuHoursOf(summary) }
      : {}),
    ...(summaries.some(({ cost }) => cost !== undefined)
      ? {
          cost_per_hour: ({ summary }) => summary.cost?.perHour ?? null,
          cost_per_million: ({ summary }) => summary.cost?.perMillionInTime ?? null,
        }
      : {}),
  };
}

/** Figures of classes, if cells have any. */
function classFigures(cells: readonly SweepCell[]): Record<string, Figure> {
  const own = senderFigures('class', cells, ({ classes }) => classes, {
    goodput_rps: ({ goodputRps }) => goodputRps,
    attainment: ({ attainment }) => attainment,
    gpu_share: ({ gpuShare }) => gpuShare,
  });
  if (Object.keys(own).length === 0) return own;
  return {
    weighted_goodput_rps: ({ summary }) => summary.weightedGoodputRps ?? null,
    weighted_bound_rps: ({ bound }) => bound?.weightedRps ?? null,
    ...own,
  };
}

function tenantFigures(cells: readonly SweepCell[]): Record<string, Figure> {
  return senderFigures('tenant', cells, ({ tenants }) => tenants, {
    goodput_rps: ({ goodputRps }) => goodputRps,
    attainment: ({ attainment }) => attainment,
    gpu_share: ({ gpuShare }) => gpuShare,
    over_rate: ({ overRate }) => overRate,
    over_share: ({ overShare }) => overShare,
  });
}

/** Columns of each class or tenant that any cell has. */
function senderFigures<T extends { readonly name: string }>(
  kind: string,
  cells: readonly SweepCell[],
  listOf: (summary: CellResult['summary']) => readonly T[] | undefined,
  columns: Readonly<Record<string, (figures: T) => number | null>>,
): Record<string, Figure> {
  const done = cells.flatMap((cell) => (cell.status === 'done' ? cell.result.summary : []));
  const names = new Set(done.flatMap((summary) => (listOf(summary) ?? []).map(({ name }) => name)));
  const figures = [...names].flatMap((name) =>
    Object.entries(columns).map(([column, read]): [string, Figure] => [
      `${kind}_${name}_${column}`,
      ({ summary }) => {
        const found = listOf(summary)?.find((each) => each.name === name);
        return found === undefined ? null : read(found);
      },
    ]),
  );
  return Object.fromEntries(figures);
}

function row(
  cell: SweepCell,
  keys: readonly string[],
  figures: readonly Figure[],
): (string | number | null)[] {
  const place = [...keys.map((key) => cell.values[key] ?? ''), cell.seed, cell.status];
  if (cell.status === 'failed') return [...place, ...figures.map(() => null), cell.code, cell.message];
  return [...place, ...figures.map((figure) => figure(cell.result)), null, null];
}

/** Empty if it falls on a request that was not answered, or if nothing was offered. */
function latencyCell(ms: number | null): number | null {
  return ms === Number.POSITIVE_INFINITY ? null : ms;
}
