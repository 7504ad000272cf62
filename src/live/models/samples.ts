import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { EscapementError } from '../../base/errors.js';
import { isFile } from '../../base/files/is-file.js';
import { bytesOfJson, parseJson } from '../frontend/json.js';
import { bytesOfShape, FREE, fitsShape, type ModelSignature, type Shape } from '../model.js';
import { isWithinFolder } from './labels.js';
import type { Sample } from './measure/sample-inputs.js';

/** An operator's inputs for measuring: a file in the model's folder, or by input the least and the largest value. */
export type SampleSetting = string | Readonly<Record<string, readonly [least: number, most: number]>>;

/** An input of `model_warmup` in Triton's configuration. */
interface WarmupInput {
  /** Without the batch. */
  readonly shape: Shape;
  readonly data: 'zero' | 'random' | { readonly file: string };
}

/** By input; one per `model_warmup`. */
export type Warmup = Readonly<Record<string, WarmupInput>>;

/** A tensor of one or more requests. */
interface Given {
  readonly name: string;
  readonly shape: Shape;
  readonly bytes: Uint8Array;
}

/** Reads inputs for measuring a model. Throws `E_CONFIG_VALUE` and `E_FILE_MISSING`. */
export function readSamples(
  modelDir: string,
  { samples, warmups = [] }: { readonly samples?: SampleSetting; readonly warmups?: readonly Warmup[] },
  signature: ModelSignature,
): readonly Sample[] {
  if (typeof samples === 'string') {
    return inFile(modelDir, samples, (file) =>
      requestsOf(file, signature).flatMap((given) => samplesOf(given, signature)),
    );
  }
  if (samples !== undefined) {
    checkNames(Object.keys(samples), signature, join(modelDir, 'config.yaml'));
    return [Object.fromEntries(Object.entries(samples).map(([name, range]) => [name, { range }]))];
  }
  return warmups.map((warmup) => {
    checkNames(Object.keys(warmup), signature, join(modelDir, 'config.pbtxt'));
    return Object.fromEntries(
      Object.entries(warmup).map(([name, { shape, data }]) => {
        if (data === 'random') return [name, { shape }];
        const { datatype } = signature.inputs.find((input) => input.name === name)!;
        const bytes = data === 'zero' ? new Uint8Array(bytesOfShape(datatype, shape)) : null;
        return [name, { shape, bytes: bytes ?? inFile(modelDir, warmupFile(data), (file) => file) }];
      }),
    );
  });
}

/** Files that samples are read from, in the model's folder. */
export function sampleFiles(samples: SampleSetting | undefined, warmups: readonly Warmup[] = []): string[] {
  const ofWarmups = warmups.flatMap((warmup) => Object.values(warmup).map(({ data }) => warmupFile(data)));
  return [...(typeof samples === 'string' ? [samples] : []), ...ofWarmups].filter(
    (file) => file !== '' && isWithinFolder(file),
  );
}

/** SHA-256 of samples, hex; null: there are none. */
export function samplesDigest(samples: readonly Sample[]): string | null {
  if (samples.length === 0) return null;
  const hash = createHash('sha256');
  for (const sample of samples)
    for (const [name, { bytes = '', ...rest }] of Object.entries(sample))
      hash.update(JSON.stringify([name, rest])).update(bytes);
  return hash.digest('hex');
}

function warmupFile(data: WarmupInput['data']): string {
  return typeof data === 'string' ? '' : join('warmup', data.file);
}

function inFile<T>(modelDir: string, file: string, read: (content: Buffer) => T): T {
  const path = join(modelDir, file);
  const fail = (code: 'E_CONFIG_VALUE' | 'E_FILE_MISSING', what: string) =>
    new EscapementError(code, what, { file: path });
  if (!isWithinFolder(file)) throw fail('E_CONFIG_VALUE', "samples must be in the model's folder");
  if (!isFile(path)) throw fail('E_FILE_MISSING', "no such file of samples in the model's folder");
  try {
    return read(readFileSync(path));
  } catch (error) {
    throw fail('E_CONFIG_VALUE', `cannot be used as samples: ${(error as Error).message}`);
  }
}

const request = z.object({
  inputs: z.array(z.object({ name: z.string(), shape: z.array(z.int().min(0)), data: z.unknown() })),
});
const requests = z.union([request.transform((one) => [one]), z.array(request)], {
  error: 'it is no request of the Open Inference Protocol, nor a list of them',
});

/** One or more bodies of requests, with their data in JSON. */
function requestsOf(file: Buffer, signature: ModelSignature): Given[][] {
  const result = requests.safeParse(parseJson(file.toString('utf8'), true));
  if (!result.success) throw new Error(result.error.issues[0].message);
  return result.data.map(({ inputs }) =>
    inputs.map(({ name, shape, data }) => {
      const datatype = signature.inputs.find((input) => input.name === name)?.datatype ?? 'FP32';
      return { name, shape, bytes: bytesOfJson(name, datatype, shape, data) };
    }),
  );
}

/** The requests in tensors: rows of a model that is batched, or one. */
function samplesOf(given: readonly Given[], signature: ModelSignature): Sample[] {
  checkNames(
    given.map(({ name }) => name),
    signature,
  );
  const { batched } = signature;
  const rows = batched ? Math.min(...given.map(({ shape }) => shape[0] ?? 0)) : 1;
  for (const { name, shape } of given) {
    const input = signature.inputs.find((one) => one.name === name)!;
    const wanted = batched ? [FREE, ...input.shape] : input.shape;
    if (!fitsShape(shape, wanted))
      throw new Error(`input ${name} is [${shape}], and the model takes [${wanted}]`);
  }
  return Array.from({ length: rows }, (_, r) =>
    Object.fromEntries(
      given.map(({ name, shape, bytes }) => {
        if (!batched) return [name, { shape, bytes }];
        const each = bytes.length / shape[0];
        return [name, { shape: shape.slice(1), bytes: bytes.slice(r * each, (r + 1) * each) }];
      }),
    ),
  );
}

function checkNames(names: readonly string[], { inputs }: ModelSignature, file?: string): void {
  const unknown = names.find((name) => !inputs.some((input) => input.name === name));
  if (unknown === undefined) return;
  const what = `${unknown} is not an input of the model, whose inputs are ${inputs.map(({ name }) => name).join(', ')}`;
  throw file === undefined
    ? new Error(what)
    : new EscapementError('E_CONFIG_VALUE', `samples: ${what}`, { file });
}
