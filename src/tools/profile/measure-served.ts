import { monotonicNs } from '../../base/clock/clock.js';
import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import { OUTCOME_OK } from '../../core/request.js';
import { type Durations, summarize, timeUntilStable } from '../../live/models/measure/until-stable.js';
import { openTarget } from '../../load/open-target.js';
import type { Payloads } from '../../load/payloads.js';
import { plainLine } from '../../load/reply.js';
import type { LoadTarget, TargetOptions } from '../../load/target.js';
import { refused, sendOne, timeOne, timePing } from './calls.js';
import { outputBytes, type ServedModel } from './served-model.js';

interface ServedSpec {
  /** As for `openTarget`. */
  readonly url: string;
  readonly trust: Pick<TargetOptions, 'token' | 'ca' | 'insecure'>;
  /** One row of real inputs, which a batch repeats; absent: random ones. */
  readonly payloads?: Payloads;
  readonly model: ServedModel;
  /** Ascending from 1; only 1 for a model without a batch. */
  readonly batchSizes: readonly number[];
  /** Requests at each batch size; null: until figures are stable or `budgetNs` is spent. */
  readonly runs: number | null;
  /** Limit for the whole model. */
  readonly budgetNs: number;
  /** Called with the finished share, from 0 to 1, and the next step. */
  onProgress?(share: number, next: string): void;
}

type ServedBatch = Durations & { readonly batch: number };

/** A model as measured by a client. */
export interface ServedMeasurement {
  /** Address of the server, for people. */
  readonly server: string;
  /** Latency of calls without work. */
  readonly roundTrip: Durations;
  /** Batches of the longest inputs; times include the round trip. */
  readonly batches: readonly ServedBatch[];
  /** Batches of shorter lengths, ascending; empty if inputs have one length. */
  readonly shorter: readonly { readonly length: number; readonly batches: readonly ServedBatch[] }[];
  /** Size of one row of outputs, at the longest length. */
  readonly outputBytes: number;
  /** Smallest batch size that the server rejected, and its answer; null: none. Larger ones were not tried. */
  readonly refused: { readonly batch: number; readonly answer: string } | null;
}

/**
 * Measures a model of a running server as a client: one request at a time, each as large as a batch. Nothing else
 * should use the server. Throws `E_SERVER` if it fails, hangs, or answers something else, and as `openTarget`.
 */
export async function measureServed(spec: ServedSpec): Promise<ServedMeasurement> {
  const { model, batchSizes } = spec;
  // One model of the target per batch size.
  const target = await openTarget(spec.url, {
    ...spec.trust,
    ...(spec.payloads === undefined ? {} : { payloads: spec.payloads }),
    seed: 1,
    models: batchSizes.map(() => model.name),
    rows: batchSizes,
    keepsAnswers: true,
    connections: 1,
  });
  try {
    return await measure(target, spec);
  } finally {
    target.close();
  }
}

/** Servers close connections after hundreds of calls without a request. */
const MOST_PINGS = 100;
const LEAST_PINGS = 5;
const PING_BUDGET_NS = NS_PER_S / 2;
/** The first one after the checked request may still be slow. */
const LEAST_RUNS = 2;

async function measure(target: LoadTarget, spec: ServedSpec): Promise<ServedMeasurement> {
  const { model, onProgress, batchSizes } = spec;
  onProgress?.(0, 'round trip');
  const roundTrip = summarize(await timePings(target));
  const untilNs = monotonicNs() + spec.budgetNs;
  const lengths = model.lengths?.buckets.toReversed() ?? [0];
  const tables: Table[] = [];
  for (const [i, length] of lengths.entries()) {
    // All lengths get the same batch sizes, so a size too large at the longest length is not measured at others.
    const sizes = tables[0]?.batches.map(({ batch }) => batch) ?? batchSizes;
    tables.push(await measureTable(target, spec, untilNs, { length, sizes, left: lengths.length - i }));
  }
  const [{ batches, outputBytes, refused }, ...others] = tables as [Table, ...Table[]];
  const shorter = others.toReversed().map(({ length, batches }) => ({ length, batches }));
  return { server: target.name, roundTrip, batches, shorter, outputBytes, refused };
}

/** Batches of one length; length 0: inputs have one length. */
interface Table extends Pick<ServedMeasurement, 'batches' | 'outputBytes' | 'refused'> {
  readonly length: number;
}

/** `left`: number of lengths that share the remaining time. */
async function measureTable(
  target: LoadTarget,
  { model, runs, onProgress, batchSizes }: ServedSpec,
  untilNs: number,
  {
    length,
    sizes,
    left,
  }: { readonly length: number; readonly sizes: readonly number[]; readonly left: number },
): Promise<Table> {
  const batches: ServedBatch[] = [];
  const all = batchSizes.length * (model.lengths?.buckets.length ?? 1);
  const at = length === 0 ? '' : ` of length ${length}`;
  let bytes = 0;
  for (const [i, batch] of sizes.entries()) {
    const steps = sizes.length * left - i;
    onProgress?.(Math.max(0, 1 - steps / all), `batch size ${batch}${at}`);
    const what = `a request of ${batch === 1 ? '1 row' : `${batch} rows`}${at} to model ${plainLine(model.name)}`;
    const { outcome, reply } = await sendOne(target, i, length, what);
    if (batch > 1 && TOO_LARGE.test(reply.status)) {
      const answer = [reply.status, reply.message].filter((word) => word !== '').join(': ');
      return { length, batches, outputBytes: bytes, refused: { batch, answer } };
    }
    if (outcome !== OUTCOME_OK) throw refused(target, what, reply);
    try {
      bytes = outputBytes(reply.outputs?.(), batch, model);
    } catch (error) {
      const problem = `${what} with what cannot be used: ${plainLine((error as Error).message)}`;
      throw new EscapementError('E_SERVER', `${target.name} answers ${problem}`);
    }
    const leftNs = Math.max(0, untilNs - monotonicNs()) / steps;
    const durationsNs = await timeRuns(() => timeOne(target, i, length, what), runs, leftNs);
    batches.push({ batch, ...summarize(durationsNs) });
  }
  return { length, batches, outputBytes: bytes, refused: null };
}

/** Answers of servers to a request with more rows than a model takes. */
const TOO_LARGE = /^(HTTP 400|HTTP 413|HTTP 422|gRPC INVALID_ARGUMENT|gRPC OUT_OF_RANGE)$/;

async function timePings(target: LoadTarget): Promise<number[]> {
  // Opens the connection.
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

/** A duration without the round trip. Positive, as profiles require. */
export function withoutRoundTrip({ runs, ...times }: Durations, { medianMs }: Durations): Durations {
  const less = Object.entries(times).map(([name, ms]) => [name, Math.max(LEAST_MS, ms - medianMs)]);
  return { runs, ...(Object.fromEntries(less) as typeof times) };
}

const LEAST_MS = 1000 / NS_PER_MS;
