import Papa from 'papaparse';
import type { CellResult, SweepCell, SweepResults } from '../metrics/results.js';

/** `results.csv`: a header and one row a cell: varied keys as written, seed, outcome, figures. */
export function resultsCsv(results: SweepResults): string {
  const keys = results.vary.map(({ key }) => key);
  const fields = [...keys, 'seed', 'status', ...Object.keys(FIGURES), 'code', 'message'];
  const data = results.cells.map((cell) => row(cell, keys));
  return `${Papa.unparse({ fields, data }, { newline: '\n' })}\n`;
}

type Figure = (result: CellResult) => number | string | null;

/** Columns in order. Names follow `summary.json`, with the unit last. */
const FIGURES: Readonly<Record<string, Figure>> = {
  goodput_rps: ({ summary }) => summary.goodputRps,
  slo_attainment: ({ summary }) => summary.sloAttainment,
  offered_rps: ({ summary }) => summary.offeredRps,
  offered: ({ summary }) => summary.requests.offered,
  ok: ({ summary }) => summary.requests.ok,
  late: ({ summary }) => summary.requests.late,
  timeout: ({ summary }) => summary.requests.timeout,
  rejected: ({ summary }) => summary.requests.rejected,
  error: ({ summary }) => summary.requests.error,
  latency_mean_ms: ({ summary }) => summary.latencyMs.mean,
  latency_p50_ms: ({ summary }) => summary.latencyMs.p50,
  latency_p90_ms: ({ summary }) => summary.latencyMs.p90,
  latency_p99_ms: ({ summary }) => summary.latencyMs.p99,
  latency_p999_ms: ({ summary }) => summary.latencyMs.p999,
  latency_p9999_ms: ({ summary }) => summary.latencyMs.p9999,
  latency_max_ms: ({ summary }) => summary.latencyMs.max,
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

function row(cell: SweepCell, keys: readonly string[]): (string | number | null)[] {
  const place = [...keys.map((key) => cell.values[key] ?? ''), cell.seed, cell.status];
  const figures = Object.values(FIGURES);
  if (cell.status === 'failed') return [...place, ...figures.map(() => null), cell.code, cell.message];
  return [...place, ...figures.map((figure) => figure(cell.result)), null, null];
}
