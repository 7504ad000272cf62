import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS } from '../../base/units.js';
import { estimatedWeightsBytes, firstNs, IMAGE_BYTES, loadNsOf, OUTPUT_BYTES } from '../../config/fit.js';
import type { Profile } from '../../config/profile.js';
import { firstOf } from '../names.js';
import type { Measurement } from './measurement.js';

/** A profile with the model and the GPU that it is of, as the files name them. */
export interface BuiltProfile {
  readonly model: string;
  /** Empty: no file names it. */
  readonly gpu: string;
  readonly profile: Profile;
}

interface BuildOptions {
  /** 99th percentile over the median, where no file has percentiles; undefined: no spread. */
  readonly spread: number | undefined;
  /** Sentences about the figures of a file. */
  readonly notesOf: ReadonlyMap<string, readonly string[]>;
  /** Size of a model's weights, if a file of it lies next to the measurements, with that file. */
  weightsOf(model: string): { readonly bytes: number; readonly file: string } | null;
}

/** Notes a guess of a profile: what about, for which model. */
type Note = (about: string, model: string, assumed?: string[]) => void;

interface Building {
  readonly measurements: readonly Measurement[];
  /** Estimated weights by model, bytes. */
  readonly estimates: Map<string, number>;
  readonly options: BuildOptions;
  readonly note: Note;
}

/** Profiles of measurements, one for each model and GPU, and notes on what was estimated. */
export function buildProfiles(
  measurements: readonly Measurement[],
  options: BuildOptions,
): { readonly profiles: readonly BuiltProfile[]; readonly notes: readonly string[] } {
  const notes = new Map<string, string[]>();
  const note: Note = (about, model, assumed) => {
    notes.set(about, [...(notes.get(about) ?? []), model]);
    assumed?.push(about);
  };
  /** Weights do not depend on the GPU, so an estimate is that of its first. */
  const estimates = new Map<string, number>();
  const groups = [...groupsOf(measurements).values()];
  const building = { measurements: groups.flat(), estimates, options, note };
  const profiles = withAllSizes(
    groups.map((group) => profileOf(group, building)),
    note,
  );
  return {
    profiles,
    notes: [...notes].map(([about, models]) => `${firstOf([...new Set(models)])}: ${about}`),
  };
}

/** Measurements by model and GPU. A model that was measured in several number formats is one model for each. */
function groupsOf(measurements: readonly Measurement[]): Map<string, Measurement[]> {
  const precisions = new Map<string, Set<string>>();
  for (const { model, precision } of measurements)
    precisions.set(model, (precisions.get(model) ?? new Set()).add(precision));
  const groups = new Map<string, Measurement[]>();
  for (const one of measurements) {
    const isOneOf = precisions.get(one.model)!.size > 1 && one.precision !== '';
    const model = isOneOf ? `${one.model}-${one.precision.toLowerCase()}` : one.model;
    const key = JSON.stringify([model, one.gpu]);
    groups.set(key, [...(groups.get(key) ?? []), { ...one, model }]);
  }
  return groups;
}

function profileOf(
  group: readonly Measurement[],
  { measurements, estimates, options, note }: Building,
): BuiltProfile {
  const [first] = group as [Measurement];
  const { model, gpu, precision } = first;
  const what = gpu === '' ? model : `${model} on ${gpu}`;
  const assumed: string[] = [];
  const guess = (about: string, of = what) => note(about, of, assumed);
  const tables = tablesOf(group, what, options, guess);
  const { length, batches: rows } = tables.pop()!;
  const hasLengths = measurements.some((one) => one.model === model && one.length !== length);
  if (tables.length > 0) {
    const shorter = tables.map((table) => table.length);
    note(`inputs of lengths ${shorter.join(', ')} and ${length}; the table below is of the longest`, what);
  } else if (length !== undefined && !hasLengths)
    guess(`only inputs of length ${length} were measured, and all are taken to be as long`);
  const slower = rows.filter(({ medianMs }, i) => medianMs > (rows[i + 1]?.medianMs ?? medianMs));
  const [worst] = slower;
  if (worst !== undefined) {
    const next = rows[rows.indexOf(worst) + 1]!;
    const example = `batch ${worst.batch} (${worst.medianMs} ms) than batch ${next.batch} (${next.medianMs} ms)`;
    note(`slower than the next larger batch: ${slower.length} of ${rows.length}, such as ${example}`, what);
  }
  // Sizes do not depend on the GPU: other measurements of the model may have them.
  const figure = (key: 'weightsBytes' | 'inputBytes' | 'outputBytes') =>
    (group.find((one) => one[key] !== undefined) ??
      measurements.find((one) => one.model === first.model && one[key] !== undefined))?.[key];
  const file = options.weightsOf(model);
  const given = figure('weightsBytes') ?? file?.bytes;
  const estimate = estimates.get(model) ?? estimatedWeightsBytes(rows[0]!.medianMs * NS_PER_MS);
  estimates.set(model, estimate);
  const weightsBytes = Math.round(given ?? estimate);
  const [inputBytes, outputBytes] = [figure('inputBytes'), figure('outputBytes')];
  const loadMs = group.find((one) => one.loadMs !== undefined)?.loadMs;
  if (given === undefined)
    guess('the weights are not known, and estimated from the latency of batch 1, as fit does');
  if (loadMs === undefined)
    guess('the time of a LOAD is not known, and estimated as the weights at 12.2 GB/s');
  const sizesNote = `${IMAGE_BYTES} and ${OUTPUT_BYTES}, as of an image of 224 x 224 and 1,000 classes in FP32, whatever the model`;
  if (inputBytes === undefined || outputBytes === undefined)
    guess(`input or output bytes are not known, and taken to be ${sizesNote}`);
  const paths = [...new Set(group.map(({ from }) => from.replace(/:\d+$/, '')))];
  const files = paths.join(', ');
  assumed.push(...paths.flatMap((path) => options.notesOf.get(path) ?? []));
  const profile: Profile = {
    name: model,
    gpu: gpu === '' ? 'unknown' : gpu,
    runtime: first.runtime ?? 'unknown',
    precision: precision === '' ? 'unknown' : precision,
    weightsBytes: Math.max(1, weightsBytes),
    loadMs: loadMs ?? loadNsOf(weightsBytes) / NS_PER_MS,
    inputBytes: Math.round(inputBytes ?? IMAGE_BYTES),
    outputBytes: Math.round(outputBytes ?? OUTPUT_BYTES),
    batches: rows,
    ...(hasLengths && { length, shorter: tables }),
    source: {
      weights:
        figure('weightsBytes') !== undefined
          ? files
          : (file?.file ?? 'estimated from the latency of batch 1'),
      load: loadMs === undefined ? 'estimated as the weights at 12.2 GB/s' : files,
      copies: inputBytes === undefined || outputBytes === undefined ? `assumed: ${sizesNote}` : files,
      batches: files,
      ...(assumed.length > 0 && { assumed }),
    },
  };
  return { model, gpu, profile };
}

/**
 * Profiles with the batch sizes of the other GPUs of their model, as far as they lie between two that were measured:
 * schedulers use only sizes that all GPUs have.
 */
function withAllSizes(profiles: readonly BuiltProfile[], note: Note): BuiltProfile[] {
  return profiles.map((one) => {
    const other = profiles.find(
      ({ model, profile }) => model === one.model && lengthsOf(profile) !== lengthsOf(one.profile),
    );
    if (other !== undefined) {
      const what = `${one.model} was measured with ${lengthsOf(one.profile)} on ${one.gpu} and ${lengthsOf(other.profile)} on ${other.gpu}: measure the same lengths`;
      throw new EscapementError('E_PROFILE', what);
    }
    const { batches, shorter, source } = one.profile;
    const assumed = [...(source.assumed ?? [])];
    const wanted = profiles
      .filter(({ model }) => model === one.model)
      .flatMap(({ profile }) => profile.batches.map(({ batch }) => batch));
    const interpolated = (batch: number) => {
      const what = `${one.model} on ${one.gpu} (${batch})`;
      note('batch sizes of its other GPUs lie between measured ones, and are interpolated', what, assumed);
    };
    const all = withSizes(batches, wanted, interpolated);
    const others = shorter?.map((table) => ({
      ...table,
      batches: withSizes(table.batches, wanted, interpolated),
    }));
    const guesses = assumed.length === 0 ? source : { ...source, assumed: [...new Set(assumed)] };
    return {
      ...one,
      profile: { ...one.profile, batches: all, ...(others && { shorter: others }), source: guesses },
    };
  });
}

function lengthsOf({ length, shorter = [] }: Profile): string {
  if (length === undefined) return 'no lengths';
  return `lengths ${[...shorter, { length }].map((table) => table.length).join(', ')}`;
}

/** Batches with those of the `wanted` sizes that lie between two of theirs. */
function withSizes(
  batches: Profile['batches'],
  wanted: readonly number[],
  interpolated: (batch: number) => void,
): Profile['batches'] {
  const known = new Map(batches.map((row) => [row.batch, row]));
  for (const batch of wanted) {
    const above = batches.findIndex((row) => row.batch > batch);
    if (known.has(batch) || above < 1) continue;
    const [lower, upper] = [batches[above - 1]!, batches[above]!];
    const part = (batch - lower.batch) / (upper.batch - lower.batch);
    const medianMs = significant(lower.medianMs + part * (upper.medianMs - lower.medianMs));
    known.set(batch, { batch, medianMs });
    interpolated(batch);
  }
  return [...known.values()].sort((a, b) => a.batch - b.batch);
}

/** Batches by length, ascending, of the sizes that all lengths have: a batch is padded to that of its longest input. */
function tablesOf(
  group: readonly Measurement[],
  what: string,
  options: BuildOptions,
  guess: (about: string, of?: string) => void,
) {
  const lengths = [...new Set(group.map(({ length }) => length))].sort((a, b) => a! - b!);
  if (lengths.length > 1 && lengths.includes(undefined)) {
    const mixed = `${what} has rows with a length and rows without`;
    throw new EscapementError('E_PROFILE', mixed, { file: group[0]!.from });
  }
  const tables = lengths.map((length) => {
    const ofLength = group.filter((one) => one.length === length);
    return { length: length!, batches: batchesOf(ofLength, what, options, guess) };
  });
  const isCommon = ({ batch }: Profile['batches'][number]) =>
    tables.every(({ batches }) => batches.some((row) => row.batch === batch));
  if (!tables.every(({ batches }) => batches.every(isCommon)))
    guess('batch sizes that were not measured at every length are left out');
  return tables.map(({ length, batches }) => ({ length, batches: batches.filter(isCommon) }));
}

/** Batches of a profile, ascending from 1. */
function batchesOf(
  group: readonly Measurement[],
  what: string,
  { spread }: BuildOptions,
  guess: (about: string, of?: string) => void,
): Profile['batches'] {
  const byBatch = new Map<number, Measurement>();
  for (const one of group) {
    const before = byBatch.get(one.batch);
    // The least loaded server is the nearest to the device itself.
    if (before === undefined || (one.concurrency ?? 1) < (before.concurrency ?? 1))
      byBatch.set(one.batch, one);
  }
  const left = group.filter((one) => (byBatch.get(one.batch)?.concurrency ?? 1) === (one.concurrency ?? 1));
  if (left.length > byBatch.size)
    guess('has several rows for a batch size, of which the first counts; choose with --where');
  const measured = [...byBatch.values()].sort((a, b) => a.batch - b.batch);
  const busy = measured.find(({ concurrency = 1 }) => concurrency > 1);
  if (busy !== undefined)
    guess(`was measured with ${busy.concurrency} requests at a time, which waited for each other`);
  const rows = measured.map((one) => rowOf(one, spread));
  if (rows.every((row) => row.p99Ms === undefined && row.maxMs === undefined))
    guess(
      'no percentiles are known: INFERs of simulations take the median (--spread 1.1: a p99 of 10 % more)',
    );
  else if (spread !== undefined && measured.some(({ p90Ms, p99Ms, maxMs }) => !(p90Ms ?? p99Ms ?? maxMs)))
    guess(`percentiles are not known: the p99 is taken as ${spread} times the median (--spread)`);
  if (rows[0]!.batch > 1) {
    const sizes = measured.map(({ batch, medianMs }) => [batch, medianMs * NS_PER_MS] as const);
    const medianMs = significant(firstNs(sizes) / NS_PER_MS);
    rows.unshift({ batch: 1, medianMs });
    guess('batch 1 was not measured, and is extrapolated', `${what} (${medianMs} ms)`);
  }
  return rows;
}

function rowOf(one: Measurement, spread: number | undefined): Profile['batches'][number] {
  const { batch, minMs, medianMs, p90Ms, runs, maxMs } = one;
  const p99Ms =
    one.p99Ms ?? (p90Ms === undefined && maxMs === undefined && spread ? medianMs * spread : undefined);
  const median = significant(medianMs);
  // Means may exceed a percentile of the same runs.
  let least = median;
  const above = (ms: number | undefined) => {
    if (ms === undefined) return undefined;
    least = Math.max(least, significant(ms));
    return least;
  };
  const quantiles = {
    minMs: minMs === undefined ? undefined : Math.min(median, significant(minMs)),
    medianMs: median,
    ...{ p90Ms: above(p90Ms), p99Ms: above(p99Ms), maxMs: above(maxMs), runs },
  };
  const known = Object.entries(quantiles).filter(([, value]) => value !== undefined);
  return { batch, ...(Object.fromEntries(known) as { medianMs: number }) };
}

/** Six digits: no measurement has more. */
function significant(ms: number): number {
  return Number(ms.toPrecision(6));
}
