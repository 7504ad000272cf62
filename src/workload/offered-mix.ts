import { NS_PER_S } from '../base/units.js';
import type { InputFiles } from '../base/world/input-files.js';
import { assignModels } from './assign.js';
import { generateAzureLike, playedShare } from './azure-like/generate.js';
import type { ExactTimes } from './exact-times.js';
import { exactLengthNs } from './exact-times.js';
import { readAzure2019, readAzure2021, readAzureLlm } from './files/layout.js';
import { type Frame, frameOf, type OpenContext } from './frame.js';
import type { MinuteCounts } from './minute-counts.js';
import { minuteSlice } from './minute-source.js';
import { popularityWeights } from './popularity.js';
import type { WorkloadSpec } from './spec.js';

/** Kinds whose mean rate is known before they are played. */
export type SteadySpec = Extract<
  WorkloadSpec,
  { kind: 'poisson' | 'fixed' | 'gamma' | 'azure-2019' | 'azure-2021' | 'azure-llm' | 'azure-like' }
>;

/**
 * Mean requests per second of a workload for each model of the run, over its duration: the sum is its mean rate. `name`
 * is that of its random streams, as for `openWorkload`. Reads traces; results are cached while their files do not
 * change. Throws the coded errors of reading.
 */
export async function offeredMix(
  spec: SteadySpec,
  context: OpenContext,
  name = 'workload',
): Promise<Float64Array> {
  const frame = frameOf(spec, context, name);
  const perModel = new Float64Array(context.models.length);
  const deal = (rates: Float64Array, modelOf: Int32Array, factor: number) => {
    rates.forEach((rate, i) => {
      perModel[modelOf[i]] += rate * factor;
    });
    return perModel;
  };
  switch (spec.kind) {
    case 'poisson':
    case 'fixed':
    case 'gamma':
    case 'azure-llm': {
      const rateRps = spec.kind === 'azure-llm' ? await llmRate(spec, frame, context.files) : spec.rateRps;
      const weights = popularityWeights(spec.popularity, frame.models.length);
      return deal(weights, frame.models, rateRps / sum(weights));
    }
    case 'azure-2019':
    case 'azure-2021':
    case 'azure-like': {
      const rates = await functionRates(spec, frame, context.files);
      return deal(rates, assignModels(rates.length, frame.models, spec.assign), spec.scale);
    }
  }
}

type FunctionSpec = Extract<SteadySpec, { kind: 'azure-2019' | 'azure-2021' | 'azure-like' }>;

/** Requests per second of each function, by rank, at scale 1. */
function functionRates(spec: FunctionSpec, frame: Frame, files: InputFiles): Promise<Float64Array> {
  const lengthNs = frame.endNs - frame.startNs;
  switch (spec.kind) {
    case 'azure-like': {
      const counts = generateAzureLike(spec, frame.random('trace'));
      const rates = minuteRates(counts, [0, counts.minutes], spec.intervalNs, lengthNs);
      return Promise.resolve(rates.map((rate) => rate * playedShare(spec.intervalNs)));
    }
    case 'azure-2019':
      return remembered(files, spec.path, [spec.kind, spec.minutes, spec.intervalNs, lengthNs], async () => {
        const counts = await readAzure2019(files, spec.path);
        return minuteRates(counts, minuteSlice(spec, counts, frame), spec.intervalNs, lengthNs);
      });
    case 'azure-2021':
      return remembered(files, spec.path, [spec.kind, spec.speed, lengthNs], async () =>
        rowRates(await readAzure2021(files, spec.path), spec.speed, lengthNs),
      );
  }
}

async function llmRate(
  spec: Extract<SteadySpec, { kind: 'azure-llm' }>,
  { startNs, endNs }: Frame,
  files: InputFiles,
): Promise<number> {
  const rates = await remembered(files, spec.path, [spec.kind, spec.speed, endNs - startNs], async () =>
    rowRates(await readAzureLlm(files, spec.path), spec.speed, endNs - startNs),
  );
  return sum(rates) * spec.scale;
}

/** Rates by function; a minute cut short counts by the part that is played. */
function minuteRates(
  { functions, start, rank, count }: MinuteCounts,
  [from, to]: readonly [number, number],
  intervalNs: number,
  lengthNs: number,
): Float64Array {
  const playedNs = Math.min((to - from) * intervalNs, lengthNs);
  const rates = new Float64Array(functions);
  for (let minute = from; minute < to; minute++) {
    const part = Math.min(1, playedNs / intervalNs - (minute - from));
    if (part <= 0) break;
    for (let entry = start[minute]; entry < start[minute + 1]; entry++)
      rates[rank[entry]] += (count[entry] * part * NS_PER_S) / playedNs;
  }
  return rates;
}

function rowRates(trace: ExactTimes, speed: number, lengthNs: number): Float64Array {
  const playedNs = Number.isFinite(lengthNs) ? lengthNs : exactLengthNs(trace) / speed;
  const rates = new Float64Array(trace.functions);
  for (let row = 0; row < trace.timesNs.length && trace.timesNs[row] / speed < playedNs; row++)
    rates[trace.rank[row]] += NS_PER_S / playedNs;
  return rates;
}

/** Cached results by file set, one entry per way to play one: small compared with the traces. */
const known = new WeakMap<InputFiles, Map<string, Promise<Float64Array>>>();

async function remembered(
  files: InputFiles,
  path: string,
  how: readonly unknown[],
  read: () => Promise<Float64Array>,
): Promise<Float64Array> {
  const { version } = await files.stat(path);
  const key = JSON.stringify([path, version, ...how]);
  const ofFiles = known.get(files) ?? new Map<string, Promise<Float64Array>>();
  known.set(files, ofFiles);
  const before = ofFiles.get(key);
  if (before !== undefined) return before;
  const rates = read();
  ofFiles.set(key, rates);
  rates.catch(() => ofFiles.delete(key));
  return rates;
}

function sum(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}
