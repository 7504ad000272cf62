import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import type { ModelSpec } from '../../src/core/model.js';
import type { OracleCase } from './run-case.js';

/** The published scheduler's results, next to the repository where they are present at all. */
const FOLDER = resolve(fileURLToPath(new URL('../../..', import.meta.url)), 'shared/oracle');

export const hasSharedData = existsSync(join(FOLDER, 'results/results.csv'));

/** One row of results.csv: what was configured, and what came of it. */
export interface OracleRow extends OracleCase {
  readonly name: string;
  /** Where its log is, if there is one. */
  readonly folder: string;
  /** Nominal duration. */
  readonly durationS: number;
  readonly goodputRps: number;
  readonly loads: number;
  readonly unloads: number;
  /** INFER actions by batch size: 1, 2, 4 and 8. */
  readonly infersByBatch: readonly number[];
}

/** Cases with one GPU, and with several. */
const FOLDERS = ['', 'multi-gpu/'];

export function readRows(): OracleRow[] {
  return FOLDERS.flatMap(readRowsOf);
}

function readRowsOf(folder: string): OracleRow[] {
  return readCsv(`${folder}results/results.csv`).map((row) => {
    const ms = (key: string) => Math.round(Number(row[key]) * 1e6);
    return {
      name: row.case,
      folder,
      durationS: row.case.startsWith('d_') ? 120 : 20,
      models: readModels(`${folder}workloads/${row.models}`),
      arrivals: readArrivals(`${folder}workloads/${row.workload}`),
      gpus: Number(row.gpus),
      pages: Number(row.cache_pages),
      sloNs: ms('slo_ms'),
      scheduleAheadNs: ms('schedule_ahead_ms'),
      latestDeltaNs: ms('latest_delta_ms'),
      maxBatch: Number(row.max_batch),
      goodputRps: Number(row.goodput_rps),
      loads: Number(row.load_sent),
      unloads: Number(row.evict_sent),
      infersByBatch: [row.b1, row.b2, row.b4, row.b8].map(Number),
    };
  });
}

/** One action of a log, as far as it is a decision. */
export interface LoggedAction {
  readonly kind: string;
  readonly gpu: number;
  readonly model: number;
  readonly batch: number;
  readonly sentNs: number;
}

export function readActions({ folder, name }: OracleRow): LoggedAction[] {
  return readCsv(`${folder}logs/${name}.actions.csv.gz`).map((row) => ({
    kind: row.type === 'EVICT' ? 'UNLOAD' : row.type,
    gpu: Number(row.gpu),
    model: Number(row.model_id),
    batch: Number(row.batch),
    sentNs: Number(row.sent_ns),
  }));
}

/** Outcome and latency of each request, in order of arrival. */
export function readRequests({
  folder,
  name,
}: OracleRow): { readonly outcome: string; readonly latencyNs: number }[] {
  return readCsv(`${folder}logs/${name}.requests.csv.gz`).map((row) => ({
    outcome: row.outcome,
    latencyNs: Number(row.latency_ns),
  }));
}

const models = new Map<string, ModelSpec[]>();

function readModels(file: string): ModelSpec[] {
  return remember(models, file, () =>
    readCsv(file).map((row) => ({
      name: row.model_id,
      weightsBytes: Number(row.weights_bytes),
      pages: Number(row.pages),
      loadNs: Number(row.weights_transfer_ns),
      batchSizes: [1, 2, 4, 8, 16],
      execNs: [row.b1_ns, row.b2_ns, row.b4_ns, row.b8_ns, row.b16_ns].map(Number),
      inputBytes: Number(row.input_bytes),
      outputBytes: Number(row.output_bytes),
    })),
  );
}

const arrivals = new Map<string, (readonly [number, number])[]>();

function readArrivals(file: string): (readonly [number, number])[] {
  return remember(arrivals, file, () =>
    readCsv(`${file}.gz`).map((row) => [Number(row.arrival_ns), Number(row.model_id)] as const),
  );
}

function remember<T>(known: Map<string, T>, key: string, make: () => T): T {
  const value = known.get(key) ?? make();
  known.set(key, value);
  return value;
}

function readCsv(path: string): Record<string, string>[] {
  const bytes = readFileSync(join(FOLDER, path));
  const [header, ...lines] = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString().trim().split('\n');
  const keys = header.split(',');
  return lines.map((line) => {
    const values = line.split(',');
    return Object.fromEntries(keys.map((key, i) => [key, values[i]]));
  });
}
