import { NS_PER_S } from '../base/units.js';
import type { InputFiles } from '../base/world/input-files.js';
import { parsed } from '../base/world/parsed-files.js';
import { assignModels } from './assign.js';
import { generateAzureLike, playedShare } from './azure-like/generate.js';
import type { ExactTimes } from './exact-times.js';
import { exactLengthNs } from './exact-times.js';
import { readAzure2019, readAzure2021, readAzureLlm } from './files/layout.js';
import { type Frame, frameOf, type OpenContext } from './frame.js';
import type { MinuteCounts } from './minute-counts.js';
import { minuteSlice } from './minute-source.js';
import { popularityWeights } from './popularity.js';
import type { SpecOf, WorkloadSpec } from './spec.js';

/** Kinds whose mean rate is known before they are played. */
export type SteadySpec = Extract<
  WorkloadSpec,
  { kind: 'poisson' | 'fixed' | 'gamma' | 'azure-2019' | 'azure-2021' | 'azure-llm' | 'azure-like' }
>;

/**
 * Mean requests per second of a workload for each model of the run, over its duration: the sum is its mean rate. `name`
 * is that of its random streams, as for `openWorkload`. Throws the coded errors of reading.
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
async function functionRates(spec: FunctionSpec, frame: Frame, files: InputFiles): Promise<Float64Array> {
  const lengthNs = frame.endNs - frame.startNs;
  switch (spec.kind) {
    case 'azure-like': {
      const counts = generateAzureLike(spec, frame.random('trace'));
      const rates = minuteRates(counts, [0, counts.minutes], spec.intervalNs, lengthNs);
      return rates.map((rate) => rate * playedShare(spec.intervalNs));
    }
    case 'azure-2019': {
      const counts = await parsed(files, spec.path, readAzure2019);
      return minuteRates(counts, minuteSlice(spec, counts, frame), spec.intervalNs, lengthNs);
    }
    case 'azure-2021':
      return rowRates(await parsed(files, spec.path, readAzure2021), spec.speed, lengthNs);
  }
}

async function llmRate(
  { path, speed, scale }: SpecOf<'azure-llm'>,
  { startNs, endNs }: Frame,
  files: InputFiles,
): Promise<number> {
  return sum(rowRates(await parsed(files, path, readAzureLlm), speed, endNs - startNs)) * scale;
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

function sum(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}
