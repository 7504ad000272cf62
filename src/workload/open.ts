import { EscapementError } from '../base/errors.js';
import type { InputFiles } from '../base/world/input-files.js';
import { parsed } from '../base/world/parsed-files.js';
import { ArrivalsSource, lastArrivalNs } from './arrivals-source.js';
import { assignModels } from './assign.js';
import { generateAzureLike, playedShare } from './azure-like/generate.js';
import { BoostedSource } from './boosted-source.js';
import type { ExactTimes } from './exact-times.js';
import { ExactSource, exactLengthNs } from './exact-times.js';
import { readAzure2019, readAzure2021, readAzureLlm } from './files/layout.js';
import { type Frame, frameOf, type OpenContext } from './frame.js';
import { ClosedLoopSource } from './generators/closed-loop.js';
import { OpenLoopSource } from './generators/open-loop.js';
import { checkLongest, withLengths } from './lengths.js';
import type { MinuteCounts } from './minute-counts.js';
import { type MinuteOptions, MinuteSource, minuteSlice } from './minute-source.js';
import { popularityTable } from './popularity.js';
import { ScaledSource, type Scaling } from './scaled-source.js';
import { selectModels } from './select-models.js';
import type { StreamedSource } from './source.js';
import type { SpecOf, WorkloadSpec } from './spec.js';

/** A workload that is ready to play. */
export interface Workload {
  readonly source: StreamedSource;
  /**
   * Nominal end of the workload, ns of virtual time since the start of the run (including `startNs`): the given
   * duration, or the length of the trace.
   */
  readonly durationNs: number;
}

/**
 * Opens one section of a run: reads the required part, and has its first arrival pending. `name` is the name of its
 * random streams, so that two sections draw different numbers.
 *
 * Throws coded errors for anything wrong with files or model names.
 */
export async function openWorkload(
  spec: WorkloadSpec,
  context: OpenContext,
  name = 'workload',
): Promise<Workload> {
  const frame = frameOf(spec, context, name);
  checkRates(spec, frame);
  const { source, durationNs } = await openKind(spec, frame, context.files);
  // Rows of a file may have their own.
  const whole = source.hasLengths === true ? source : withLengths(source, spec.length, frame);
  return { source: boosted(whole, spec, context, frame, durationNs), durationNs };
}

function boosted(
  source: StreamedSource,
  { boost = {} }: WorkloadSpec,
  { models }: OpenContext,
  frame: Frame,
  endNs: number,
): StreamedSource {
  const factors = new Float64Array(models.length).fill(1);
  for (const [pattern, factor] of Object.entries(boost))
    for (const model of selectModels(models, [pattern])) factors[model]! *= factor;
  if (factors.every((factor) => factor === 1)) return source;
  return new BoostedSource(source, factors, frame.startNs, endNs, frame.random('boost'));
}

/** A section with `factor` times as many requests, or clients. */
export function multiplied<Spec extends WorkloadSpec>(spec: Spec, factor: number): Spec {
  if (factor === 1) return spec;
  if (spec.kind === 'closed-loop')
    return { ...spec, clients: Math.max(1, Math.round(factor * spec.clients)) };
  if (spec.kind === 'arrivals' || 'scale' in spec) return { ...spec, scale: factor * (spec.scale ?? 1) };
  const given: Readonly<Record<string, unknown>> = { ...spec };
  const rates = (RATES[spec.kind] ?? []).map((key) => [key, factor * (given[key] as number)]);
  return { ...spec, ...Object.fromEntries(rates) };
}

async function openKind(spec: WorkloadSpec, frame: Frame, files: InputFiles): Promise<Workload> {
  switch (spec.kind) {
    case 'arrivals':
      return openArrivals(spec, frame, files);
    case 'azure-2019':
      return openAzure2019(spec, frame, files);
    case 'azure-2021':
      return openAzure2021(spec, frame, files);
    case 'azure-llm':
      return openAzureLlm(spec, frame, files);
    case 'azure-like':
      return openAzureLike(spec, frame);
    case 'closed-loop':
      return { source: new ClosedLoopSource(spec, frame), durationNs: frame.endNs };
    default:
      return { source: new OpenLoopSource(spec, frame), durationNs: frame.endNs };
  }
}

async function openArrivals(spec: SpecOf<'arrivals'>, frame: Frame, files: InputFiles): Promise<Workload> {
  const { scale = 1, speed = 1 } = spec;
  const limited = Number.isFinite(frame.endNs);
  const asWritten = scale === 1 && speed === 1;
  const rows = asWritten ? frame : { ...frame, startNs: 0, endNs: (frame.endNs - frame.startNs) * speed };
  const source = await ArrivalsSource.open(spec, rows, files);
  return {
    source: asWritten ? source : new ScaledSource(source, { scale, speed }, frame),
    durationNs: limited
      ? frame.endNs
      : frame.startNs + Math.floor((await lastArrivalNs(files, spec.path)) / speed) + 1,
  };
}

async function openAzure2019(spec: SpecOf<'azure-2019'>, frame: Frame, files: InputFiles): Promise<Workload> {
  const counts = await parsed(files, spec.path, readAzure2019);
  return playMinutes(counts, { ...spec, minutes: minuteSlice(spec, counts, frame) }, frame);
}

function openAzureLike(spec: SpecOf<'azure-like'>, frame: Frame): Workload {
  const counts = generateAzureLike(spec, frame.random('trace'));
  const scale = spec.scale * playedShare(spec.intervalNs);
  return playMinutes(counts, { ...spec, scale, minutes: [0, counts.minutes] }, frame);
}

function playMinutes(counts: MinuteCounts, options: MinuteOptions, frame: Frame): Workload {
  const lengthNs = (options.minutes[1] - options.minutes[0]) * options.intervalNs;
  return {
    source: new MinuteSource(counts, options, frame),
    durationNs: Math.min(frame.startNs + lengthNs, frame.endNs),
  };
}

async function openAzure2021(spec: SpecOf<'azure-2021'>, frame: Frame, files: InputFiles): Promise<Workload> {
  const trace = await parsed(files, spec.path, readAzure2021);
  return playRows(trace, spec, frame, {
    modelOf: assignModels(trace.functions, frame.models, spec.assign),
  });
}

async function openAzureLlm(spec: SpecOf<'azure-llm'>, frame: Frame, files: InputFiles): Promise<Workload> {
  const tokens = spec.length?.kind === 'tokens' ? spec.length : null;
  const trace =
    tokens === null
      ? await parsed(files, spec.path, readAzureLlm)
      : await readAzureLlm(files, spec.path, tokens);
  if (trace.lengths !== undefined)
    checkLongest(
      trace.lengths.reduce((most, length) => Math.max(most, length), 0),
      frame,
    );
  const popularity = popularityTable(spec.popularity, frame.models.length);
  const picks = frame.random('models');
  return playRows(trace, spec, frame, { deal: () => frame.models[popularity.pick(picks())] });
}

function playRows(
  trace: ExactTimes,
  { scale, speed }: Pick<Scaling, 'scale' | 'speed'>,
  frame: Frame,
  { modelOf, deal }: Pick<Scaling, 'deal'> & { readonly modelOf?: Int32Array },
): Workload {
  const lengthNs = exactLengthNs(trace);
  const scaling = { scale, speed, lengthNs, ...(deal === undefined ? {} : { deal }) };
  return {
    source: new ScaledSource(new ExactSource(trace, frame.sloNs, modelOf), scaling, frame),
    durationNs: exactEndNs(lengthNs, speed, frame),
  };
}

/** A given duration counts even if the rows end before it, since rows are events, not a span. */
function exactEndNs(lengthNs: number, speed: number, frame: Frame): number {
  return Number.isFinite(frame.endNs) ? frame.endNs : frame.startNs + Math.ceil(lengthNs / speed);
}

/** Keys of the kinds that have rates. */
const RATES: Readonly<Partial<Record<WorkloadSpec['kind'], readonly string[]>>> = {
  poisson: ['rateRps'],
  fixed: ['rateRps'],
  gamma: ['rateRps'],
  'on-off': ['onRateRps', 'offRateRps'],
  ramp: ['fromRateRps', 'toRateRps'],
  'azure-like': ['rateRps'],
};

/** Rejects a missing rate, possible in a program without type checks, which would look like a run without traffic. */
function checkRates(spec: WorkloadSpec, frame: Frame): void {
  const given: Readonly<Record<string, unknown>> = { ...spec };
  for (const key of RATES[spec.kind] ?? []) {
    const rate = given[key];
    if (typeof rate === 'number' && rate >= 0) continue;
    const what = `must be a number of requests per second, found ${rate}`;
    throw new EscapementError('E_CONFIG_VALUE', what, frame.placeOf(key));
  }
}
