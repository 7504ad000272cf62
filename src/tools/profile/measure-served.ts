import { monotonicNs } from '../../base/clock/clock.js';
import { EscapementError } from '../../base/errors.js';
import { MIB, NS_PER_MS, NS_PER_S } from '../../base/units.js';
import { OUTCOME_OK } from '../../core/request.js';
import { type Durations, summarize } from '../../live/models/measure/durations.js';
import { timeUntilStable } from '../../live/models/measure/until-stable.js';
import { openTarget } from '../../load/open-target.js';
import { plainLine } from '../../load/reply.js';
import type { LoadTarget, TargetOptions } from '../../load/target.js';
import { refused, sendOne, timeOne, timePing } from './calls.js';
import { outputBytes, type ServedModel } from './served-model.js';

interface ServedSpec {
  /** As `openTarget` takes it. */
  readonly url: string;
  readonly trust: Pick<TargetOptions, 'token' | 'ca' | 'insecure'>;
  readonly model: ServedModel;
  /** Ascending from 1; only 1 of a model without a batch. */
  readonly batchSizes: readonly number[];
  /** Requests at each batch size; null: until their figures are stable or `budgetNs` is spent. */
  readonly runs: number | null;
  /** For the whole model. */
  readonly budgetNs: number;
  /** Gets the share that is done, from 0 to 1, and what comes next. */
  onProgress?(share: number, next: string): void;
}

/** What a client sees of a model. */
export interface ServedMeasurement {
  /** Address of the server, for people. */
  readonly server: string;
  /** Of calls without work. */
  readonly roundTrip: Durations;
  /** From the outside: with the round trip. */
  readonly batches: readonly (Durations & { readonly batch: number })[];
  /** Of one row. */
  readonly outputBytes: number;
  /** The batch size that the server does not take, and what it says; null: it takes all. Larger ones were not tried. */
  readonly refused: { readonly batch: number; readonly answer: string } | null;
}

/**
 * Measures a model of a running server as a client: one request at a time, each as large as a batch. Nothing else should use
 * the server meanwhile. Throws `E_SERVER` where the server fails, hangs, or answers something else, and as `openTarget`.
 */
export async function measureServed(spec: ServedSpec): Promise<ServedMeasurement> {
  const { model, batchSizes } = spec;
  // A model of the target for each batch size.
  const target = await openTarget(spec.url, {
    ...spec.trust,
    seed: 1,
    models: batchSizes.map(() => model.name),
    rows: batchSizes,
    keptBytes: MOST_ANSWER_BYTES,
    connections: 1,
  });
  try {
    return await measure(target, spec);
  } finally {
    target.close();
  }
}

/** JSON takes several times the bytes of the outputs. */
const MOST_ANSWER_BYTES = 256 * MIB;
/** Servers close connections with hundreds of calls that bring no request. */
const MOST_PINGS = 100;
const LEAST_PINGS = 5;
const PING_BUDGET_NS = NS_PER_S / 2;
/** The first after the one that is checked may still be slow. */
const LEAST_RUNS = 2;

async function measure(target: LoadTarget, spec: ServedSpec): Promise<ServedMeasurement> {
  const { model, batchSizes, onProgress } = spec;
  onProgress?.(0, 'round trip');
  const roundTrip = summarize(await timePings(target));
  const untilNs = monotonicNs() + spec.budgetNs;
  const batches: ServedMeasurement['batches'][number][] = [];
  let bytes = 0;
  let refusal: ServedMeasurement['refused'] = null;
  for (const [i, batch] of batchSizes.entries()) {
    onProgress?.(i / batchSizes.length, `batch size ${batch}`);
    const what = `a request of ${batch === 1 ? '1 row' : `${batch} rows`} to model ${plainLine(model.name)}`;
    const first = await checkedBytes(target, { index: i, rows: batch, what, model });
    if (typeof first !== 'number') {
      refusal = { batch, ...first };
      break;
    }
    bytes = first;
    const leftNs = Math.max(0, untilNs - monotonicNs()) / (batchSizes.length - i);
    const durationsNs = await timeRuns(() => timeOne(target, i, what), spec.runs, leftNs);
    batches.push({ batch, ...summarize(durationsNs) });
  }
  return { server: target.name, roundTrip, batches, outputBytes: bytes, refused: refusal };
}

async function timePings(target: LoadTarget): Promise<number[]> {
  // It opens the connection.
  await timePing(target);
  const untilNs = monotonicNs() + PING_BUDGET_NS;
  const durationsNs: number[] = [];
  while (durationsNs.length < MOST_PINGS && (durationsNs.length < LEAST_PINGS || monotonicNs() < untilNs))
    durationsNs.push(await timePing(target));
  return durationsNs;
}

async function timeRuns(
  run: () => Promise<number>,
  runs: number | null,
  budgetNs: number,
): Promise<number[]> {
  if (runs === null) return timeUntilStable(run, { least: LEAST_RUNS, untilNs: monotonicNs() + budgetNs });
  const durationsNs: number[] = [];
  while (durationsNs.length < runs) durationsNs.push(await run());
  return durationsNs;
}

interface FirstRequest {
  /** Of the batch size among those of the target. */
  readonly index: number;
  readonly rows: number;
  readonly what: string;
  readonly model: ServedModel;
}

/** Sends the first request of a batch size. Gives the bytes of its outputs a row, or what the server says against the size. */
async function checkedBytes(
  target: LoadTarget,
  { index, rows, what, model }: FirstRequest,
): Promise<number | { answer: string }> {
  const { outcome, reply } = await sendOne(target, index, what);
  if (rows > 1 && TOO_LARGE.test(reply.status))
    return { answer: [reply.status, reply.message].filter((word) => word !== '').join(': ') };
  if (outcome !== OUTCOME_OK) throw refused(target, what, reply);
  try {
    return outputBytes(reply.outputs?.(), rows, model);
  } catch (error) {
    const problem = plainLine((error as Error).message);
    throw new EscapementError(
      'E_SERVER',
      `${target.name} answers ${what} with what cannot be used: ${problem}`,
    );
  }
}

/** How servers say that a request has more rows than a model takes. */
const TOO_LARGE = /^(HTTP 400|HTTP 413|HTTP 422|gRPC INVALID_ARGUMENT|gRPC OUT_OF_RANGE)$/;

/** A duration without the round trip. Not 0, which no profile may have. */
export function withoutRoundTrip(durations: Durations, { medianMs }: Durations): Durations {
  const less = (ms: number) => Math.max(LEAST_MS, ms - medianMs);
  return {
    runs: durations.runs,
    minMs: less(durations.minMs),
    medianMs: less(durations.medianMs),
    p90Ms: less(durations.p90Ms),
    p99Ms: less(durations.p99Ms),
    maxMs: less(durations.maxMs),
  };
}

const LEAST_MS = 1000 / NS_PER_MS;
