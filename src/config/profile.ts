import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { EscapementError } from '../core/errors.js';
import type { ModelSpec } from '../core/model.js';
import { NS_PER_MS, NS_PER_S } from '../core/units.js';
import { readDocument, shortPath } from './document.js';
import { section } from './fields.js';
import { fileProblem } from './files.js';
import { crossedQuantiles } from './profile-spread.js';
import { validate } from './validate.js';

const milliseconds = z.number().positive();

const batch = section({
  batch: z.int().min(1).describe('Batch size.'),
  medianMs: milliseconds.describe('Median time of one INFER, without copies. What simulations use.'),
  minMs: milliseconds.exactOptional().describe('Shortest time seen.'),
  p90Ms: milliseconds.exactOptional().describe('90th percentile.'),
  p99Ms: milliseconds.exactOptional().describe('99th percentile.'),
  maxMs: milliseconds.exactOptional().describe('Longest time seen.'),
  afterOtherMs: milliseconds
    .exactOptional()
    .describe('Median time right after another model ran on the device, whose weights fill the caches then.'),
  runs: z.int().min(1).exactOptional().describe('Number of measured runs.'),
});

const sources = section({
  weights: z.string().min(1).describe('Where weightsBytes comes from.'),
  load: z.string().min(1).describe('Where loadMs comes from.'),
  copies: z.string().min(1).describe('Where inputBytes and outputBytes come from.'),
  batches: z.string().min(1).describe('Where the latencies come from.'),
});

/** A profile file: what was measured of one model on one GPU, and where each figure comes from. */
export const profileSchema = section({
  $schema: z.string().exactOptional().describe('For editors.'),
  name: z.string().min(1).describe('Name of the model.'),
  gpu: z.string().min(1).describe('GPU, or CPU, that was measured.'),
  runtime: z.string().min(1).describe('Runtime that executed it.'),
  precision: z.string().min(1).describe('Number format, e.g. FP32.'),
  weightsBytes: z.int().min(1).describe('Bytes of its weights.'),
  loadMs: milliseconds.describe('Time to copy the weights from host to GPU.'),
  loadP99Ms: milliseconds.exactOptional().describe('99th percentile of it.'),
  loadMaxMs: milliseconds.exactOptional().describe('Longest time seen of it.'),
  inputBytes: z.int().min(0).describe('Bytes of the input of one request.'),
  outputBytes: z.int().min(0).describe('Bytes of the output of one request.'),
  batches: z.array(batch).min(1).describe('Latency by batch size, ascending from 1.'),
  source: sources.describe('Source of every figure.'),
});

export type Profile = z.output<typeof profileSchema>;

/** Reads a profile. Throws `E_FILE_MISSING`, and `E_PROFILE` with file, line and key of a mistake. */
export async function readProfile(path: string): Promise<Profile> {
  return parseProfile(
    await readFile(path, 'utf8').catch((error) => Promise.reject(fileProblem(error, path))),
    path,
  );
}

/** Reads the text of a profile; `file` is for messages. Throws `E_PROFILE`. */
export function parseProfile(text: string, file: string): Profile {
  const document = readDocument(text, file, 'E_PROFILE');
  const placeOf = (path: readonly (string | number)[]) => {
    const line = document.lineOf(path);
    return { file, ...(line === undefined ? {} : { line }), key: shortPath(document.tree, path).join('.') };
  };
  const profile = validate(profileSchema, document.tree, placeOf, 'E_PROFILE');
  profile.batches.forEach(({ batch }, i) => {
    const previous = i === 0 ? 0 : profile.batches[i - 1]!.batch;
    if (i === 0 ? batch === 1 : batch > previous) return;
    throw new EscapementError(
      'E_PROFILE',
      'batch sizes must start with 1 and ascend',
      placeOf(['batches', i, 'batch']),
    );
  });
  const crossed = crossedQuantiles(profile);
  if (crossed !== null) throw new EscapementError('E_PROFILE', crossed.what, placeOf(crossed.path));
  return profile;
}

/** The profile as the scheduler and the simulator use it. */
export function profileModel(profile: Profile, name: string, pageBytes: number): ModelSpec {
  return {
    name,
    weightsBytes: profile.weightsBytes,
    pages: Math.ceil(profile.weightsBytes / pageBytes),
    loadNs: Math.round(profile.loadMs * NS_PER_MS),
    batchSizes: profile.batches.map(({ batch }) => batch),
    execNs: profile.batches.map(({ medianMs }) => Math.round(medianMs * NS_PER_MS)),
    inputBytes: profile.inputBytes,
    outputBytes: profile.outputBytes,
  };
}

/** What a profile says, for people. */
export interface ProfileDescription {
  readonly rows: readonly {
    readonly batch: number;
    readonly ms: number;
    /** Requests per second of one GPU that runs nothing but this batch size. */
    readonly requestsPerS: number;
  }[];
  readonly weightsBytes: number;
  readonly loadMs: number;
  /** Bytes per second of the copy from host to GPU. */
  readonly loadBytesPerS: number;
  /** The most requests per second that one GPU can serve, at its best batch size. */
  readonly peakRequestsPerS: number;
}

export function describeProfile(profile: Profile): ProfileDescription {
  const rows = profile.batches.map(({ batch, medianMs }) => ({
    batch,
    ms: medianMs,
    requestsPerS: (batch * NS_PER_S) / (medianMs * NS_PER_MS),
  }));
  return {
    rows,
    weightsBytes: profile.weightsBytes,
    loadMs: profile.loadMs,
    loadBytesPerS: (profile.weightsBytes * NS_PER_S) / (profile.loadMs * NS_PER_MS),
    peakRequestsPerS: Math.max(...rows.map((row) => row.requestsPerS)),
  };
}
