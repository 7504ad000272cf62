import * as z from 'zod';
import { NS_PER_MS, NS_PER_S } from '../base/units.js';
import { MOST_LENGTHS, type ModelSpec } from '../core/model.js';
import { flag, section, text, whole } from './fields.js';

const milliseconds = z.number().positive();

const batch = section({
  batch: whole('Batch size.', 1),
  medianMs: milliseconds.describe('Median time of one INFER, without copies. What simulations use.'),
  minMs: milliseconds.exactOptional().describe('Shortest time seen.'),
  p90Ms: milliseconds.exactOptional().describe('90th percentile.'),
  p99Ms: milliseconds.exactOptional().describe('99th percentile.'),
  maxMs: milliseconds.exactOptional().describe('Longest time seen.'),
  afterOtherMs: milliseconds
    .exactOptional()
    .describe('Median time right after another model ran on the device, when the caches hold its weights.'),
  runs: whole('Number of measured runs.', 1).exactOptional(),
});

const shorter = section({
  length: whole('Length of the inputs that were measured, e.g. tokens.', 1),
  batches: z.array(batch).min(1).describe('Latency by batch size: the sizes of the longest length.'),
});

const batching = section({
  independent: flag('A row of a batch gives the same output as alone; otherwise requests run one at a time.'),
  batchSizes: z.array(z.int().min(2)).describe('Batch sizes that were compared.'),
  output: z.string().exactOptional().describe('Output with the largest relative difference.'),
  difference: z.number().min(0).exactOptional().describe('That difference; absent where it is infinite.'),
  what: z.string().describe('The result of the comparison in words.'),
  padding: section({
    same: flag('Padded inputs give the same output as unpadded ones.'),
    what: z.string().describe('The result of the comparison in words.'),
  })
    .exactOptional()
    .describe('True if padding changes outputs; absent: nothing is padded.'),
});

const sources = section({
  weights: text('Where weightsBytes comes from.'),
  load: text('Where loadMs comes from.'),
  copies: text('Where inputBytes and outputBytes come from.'),
  batches: text('Where the latencies come from.'),
  assumed: z.array(z.string()).exactOptional().describe('Guesses in place of measurements.'),
});

const profileSection = section({
  $schema: z.string().exactOptional().describe('For editors.'),
  name: text('Name of the model.'),
  gpu: text('GPU, or CPU, that was measured.'),
  runtime: text('Runtime that executed it.'),
  precision: text('Number format, e.g. FP32.'),
  weightsBytes: whole('Bytes of its weights.', 1),
  loadedBytes: whole(
    'Bytes of GPU memory that it takes when loaded, with what the runtime adds to the weights; absent: those of the weights.',
    0,
  ).exactOptional(),
  loadMs: milliseconds.describe('Time to copy the weights from host to GPU.'),
  loadP99Ms: milliseconds.exactOptional().describe('99th percentile of it.'),
  loadMaxMs: milliseconds.exactOptional().describe('Longest time seen of it.'),
  inputBytes: whole('Bytes of the input of one request.', 0),
  outputBytes: whole('Bytes of the output of one request.', 0),
  modelSha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .exactOptional()
    .describe('SHA-256 of the model and its weights files, to which the profile belongs.'),
  samplesSha256: z.string().exactOptional().describe('SHA-256 of the inputs given for measuring it.'),
  batching: batching.exactOptional().describe('True if the first dimension of the model is a batch.'),
  provisional: flag(
    'Measured only briefly: planned with a margin, and to be measured again.',
  ).exactOptional(),
  freeOutputs: flag(
    'Sizes of outputs follow from the values of inputs and differ from those that the model declares.',
  ).exactOptional(),
  batches: z.array(batch).min(1).describe('Latency by batch size, ascending from 1.'),
  length: whole(
    'For a model that takes inputs of several lengths (tokens, pixels): the longest, to which `batches` belong.',
    1,
  ).exactOptional(),
  shorter: z
    .array(shorter)
    .exactOptional()
    .describe('Latency by batch size for shorter lengths to which inputs may be padded, ascending.'),
  fill: z
    .record(z.string(), z.number())
    .exactOptional()
    .describe('By input: what shorter ones were padded with.'),
  equalLengths: flag(
    'Inputs are not padded: they may have other lengths, too, and those of a batch have the same.',
  ).exactOptional(),
  source: sources.describe('Source of every figure.'),
});

export type Profile = z.output<typeof profileSection>;

/** A profile file: measurements of one model on one GPU, with the source of each figure. */
export const profileSchema = profileSection.superRefine((profile, context) => {
  const [path, message] = mistakeIn(profile) ?? [];
  if (path !== undefined && message !== undefined) context.addIssue({ code: 'custom', path, message });
});

/** Place and message of the first mistake in figures that belong together. */
function mistakeIn(profile: Profile): [path: (string | number)[], message: string] | undefined {
  const { batches, length, shorter = [] } = profile;
  const first = batches.findIndex(({ batch }, i) => (i === 0 ? batch !== 1 : batch <= batches[i - 1]!.batch));
  if (first >= 0) return [['batches', first, 'batch'], 'batch sizes must start with 1 and ascend'];
  if (length === undefined && shorter.length > 0) return [['length'], 'needs the longest length too'];
  if (shorter.length >= MOST_LENGTHS) return [['shorter'], `has more than ${MOST_LENGTHS} lengths`];
  const lengths = [...shorter.map((one) => one.length), length ?? 0];
  const sizesOf = (row: Profile['batches']) => row.map(({ batch }) => batch).join();
  for (const [i, one] of shorter.entries()) {
    if (one.length >= lengths[i + 1]!)
      return [['shorter', i, 'length'], `lengths must ascend, found ${lengths.join(', ')}`];
    if (sizesOf(one.batches) !== sizesOf(batches))
      return [['shorter', i, 'batches'], 'must have the batch sizes of the longest length'];
  }
  if (!ascends(loadQuantiles(profile))) return [['loadMs'], 'loadMs, loadP99Ms and loadMaxMs must ascend'];
  const crossed = batches.findIndex((one) => !ascends(batchQuantiles(one)));
  if (crossed < 0) return undefined;
  return [['batches', crossed], 'minMs, medianMs, p90Ms, p99Ms and maxMs must ascend'];
}

/** A share of the runs and their largest duration. */
export type Quantile = readonly [share: number, ms: number];

/** Measured quantiles of an INFER. */
export function batchQuantiles(batch: Profile['batches'][number]): Quantile[] {
  const { minMs, medianMs, p90Ms, p99Ms, maxMs } = batch;
  return measured([0, 0.5, 0.9, 0.99, 1], [minMs, medianMs, p90Ms, p99Ms, maxMs]);
}

/** Measured quantiles of a LOAD. */
export function loadQuantiles({ loadMs, loadP99Ms, loadMaxMs }: Profile): Quantile[] {
  return measured([0.5, 0.99, 1], [loadMs, loadP99Ms, loadMaxMs]);
}

function measured(shares: readonly number[], timesMs: readonly (number | undefined)[]): Quantile[] {
  return timesMs.flatMap((ms, i): Quantile[] => (ms === undefined ? [] : [[shares[i]!, ms]]));
}

function ascends(quantiles: readonly Quantile[]): boolean {
  return quantiles.every(([, ms], i) => i === 0 || ms >= quantiles[i - 1]![1]);
}

/** The profile in the form of scheduler and simulator. */
export function profileModel(given: Profile, name: string, pageBytes: number): ModelSpec {
  const profile = given.provisional === true ? withMargin(given) : given;
  return {
    name,
    weightsBytes: profile.weightsBytes,
    pages: Math.ceil(Math.max(profile.weightsBytes, profile.loadedBytes ?? 0) / pageBytes),
    loadNs: Math.round(profile.loadMs * NS_PER_MS),
    batchSizes: profile.batches.map(({ batch }) => batch),
    execNs: profile.batches.map(inferNs),
    ...lengthsOf(profile),
    inputBytes: profile.inputBytes,
    outputBytes: profile.outputBytes,
  };
}

/** Factor on the times of a provisional profile. */
const MARGIN = 1.5;

function withMargin({ loadMs, batches, shorter, ...profile }: Profile): Profile {
  const widened = (rows: Profile['batches']) =>
    rows.map((row) => ({ ...row, medianMs: MARGIN * row.medianMs }));
  const lengths = shorter?.map((one) => ({ ...one, batches: widened(one.batches) }));
  const rest = { ...profile, loadMs: MARGIN * loadMs, batches: widened(batches) };
  return lengths === undefined ? rest : { ...rest, shorter: lengths };
}

function lengthsOf({
  length,
  shorter = [],
  batches,
  equalLengths = false,
}: Profile): Pick<ModelSpec, 'lengths' | 'execNsByLength' | 'equalLengths'> {
  if (length === undefined) return {};
  return {
    lengths: [...shorter.map((one) => one.length), length],
    execNsByLength: [...shorter.map((one) => one.batches), batches].map((row) => row.map(inferNs)),
    ...(equalLengths ? { equalLengths } : {}),
  };
}

function inferNs({ medianMs }: { readonly medianMs: number }): number {
  return Math.round(medianMs * NS_PER_MS);
}

/** Batches of a profile, length by length: those of the longest come last. */
export function allBatches({ shorter = [], batches }: Profile): Profile['batches'] {
  return [...shorter.flatMap((one) => one.batches), ...batches];
}

/** Figures of a profile, for people. */
export function describeProfile({ batches, weightsBytes, loadMs }: Profile) {
  const rows = batches.map(({ batch, medianMs }) => ({
    batch,
    ms: cleanMs(medianMs),
    /** Requests per second of one GPU that runs nothing but this batch size. */
    throughputRps: (batch * NS_PER_S) / (medianMs * NS_PER_MS),
  }));
  return {
    rows,
    weightsBytes,
    loadMs: cleanMs(loadMs),
    /** Bytes per second of the copy from host to GPU. */
    loadBytesPerS: (weightsBytes * NS_PER_S) / (loadMs * NS_PER_MS),
    /** The most requests per second that one GPU can serve, at its best batch size. */
    peakRps: Math.max(...rows.map((row) => row.throughputRps)),
  };
}

/** Whole ns as ms, without the noise of measured quotients: 1.4, not 1.4000000000000001. */
function cleanMs(ms: number): number {
  return Math.round(ms * NS_PER_MS) / NS_PER_MS;
}
