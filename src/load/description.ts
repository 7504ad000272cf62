import { z } from 'zod';
import { EscapementError } from '../base/errors.js';
import { plainLine } from './reply.js';
import type { TensorDescription } from './tensors.js';

/** Facts about a server, read before a run. */
export interface ServerDescription {
  /** Its name and version, for people. */
  readonly software: string;
  /** True if it accepts tensors as bytes instead of JSON. */
  readonly binary: boolean;
  /** One per model of the run. */
  readonly models: readonly ModelDescription[];
}

/** A model as its server describes it. */
export interface ModelDescription {
  /** Version to name in requests if the server knows the model only by its versions. */
  readonly version?: string;
  /** Null if the server does not describe them. */
  readonly inputs: readonly TensorDescription[] | null;
  /** Empty if the server does not describe them. */
  readonly outputs: readonly TensorDescription[];
  /** Absent if the server does not mention lengths. */
  readonly lengths?: LengthDescription;
  /** Most rows of a request; 0: the first dimension is not a batch. Absent if the server does not say. */
  readonly maxBatch?: number;
}

/** Lengths of a model's inputs, if it has one more open dimension than the batch. */
export interface LengthDescription {
  /** Ascending; inputs are padded to them. */
  readonly buckets: readonly number[];
}

/** A model in the index of a server's repository; not trusted. */
export interface IndexEntry {
  readonly name: string;
  readonly version?: unknown;
  /** `READY`, or anything else. */
  readonly state?: unknown;
}

/** A server's metadata of a model. */
export interface ModelMetadata {
  readonly versions?: unknown;
  readonly inputs?: unknown;
  readonly outputs?: unknown;
}

/** Requests for a server's metadata, in either protocol. */
export interface ServerApi {
  /** Throws `E_SERVER` if it cannot be reached or is not ready. */
  describe(): Promise<Omit<ServerDescription, 'models'>>;
  /** Null if the server does not answer. Without a version, the server chooses. */
  metadata(model: string, version?: string): Promise<ModelMetadata | null>;
  /** Null if the server has no such extension. */
  config(model: string, version?: string): Promise<unknown>;
  isReady(model: string): Promise<boolean>;
  /** Null if the server does not list its models. */
  index(): Promise<readonly IndexEntry[] | null>;
  close(): void;
}

/** Limit on the dimensions of a tensor: more than any model has. */
const MOST_DIMENSIONS = 100;
/** Largest number of models named in an error. */
const MOST_NAMES = 20;

/**
 * Reads a server's description of a model. It is optional, and some servers have it only by version. Throws
 * `E_UNKNOWN_MODEL` if the server lacks the model.
 */
export async function describeModel(api: ServerApi, model: string): Promise<ModelDescription> {
  const latest = await api.metadata(model);
  const { version, metadata } =
    inputsIn(latest) === null ? await describeVersion(api, model, latest) : { metadata: latest };
  const inputs = inputsIn(metadata);
  const config = inputs === null ? null : await api.config(model, version);
  const lengths = hasLength(inputs ?? []) ? lengthsOf(config) : null;
  const { max_batch_size: maxBatch } = (config ?? {}) as { max_batch_size?: unknown };
  return {
    ...(version === undefined ? {} : { version }),
    inputs,
    outputs: isTensorList(metadata?.outputs) ? metadata.outputs : [],
    ...(lengths === null ? {} : { lengths }),
    ...(Number.isSafeInteger(maxBatch) ? { maxBatch: maxBatch as number } : {}),
  };
}

/** Metadata of the newest listed version, in place of metadata without inputs. */
async function describeVersion(
  api: ServerApi,
  model: string,
  metadata: ModelMetadata | null,
): Promise<{ readonly version?: string; readonly metadata: ModelMetadata | null }> {
  const index = await api.index().catch(() => null);
  const entries = (index ?? []).filter((entry) => entry.name === model && isReady(entry));
  const version = newestOf([metadata?.versions ?? [], entries.map((entry) => entry.version)].flat());
  const versioned = version === undefined ? null : await api.metadata(model, version);
  if (version !== undefined && versioned !== null && (metadata === null || inputsIn(versioned) !== null))
    return { version, metadata: versioned };
  if (metadata === null && entries.length === 0 && !(await api.isReady(model)))
    throw unknownModel(model, readyModels(index));
  return { metadata };
}

/** Highest number if versions are numbers; else the last. */
function newestOf(versions: readonly unknown[]): string | undefined {
  const named = versions.filter((version) => typeof version === 'string' && version !== '') as string[];
  return named.reduce<string | undefined>(
    (newest, version) => (newest === undefined || !(Number(version) < Number(newest)) ? version : newest),
    undefined,
  );
}

/** Null if inputs are not described; some servers list none. */
function inputsIn(metadata: ModelMetadata | null): readonly TensorDescription[] | null {
  const inputs = metadata?.inputs;
  return isTensorList(inputs) && inputs.length > 0 ? inputs : null;
}

/** Error for a model that a server lacks. `known`: null if the server does not list its models. */
export function unknownModel(model: string, known: readonly string[] | null): EscapementError {
  const has = known === null ? 'and does not list its models' : `it has ${someOf(known) || 'none'}`;
  return new EscapementError(
    'E_UNKNOWN_MODEL',
    `the server has no model ${model}; ${has}: use the server's names for the models of the experiment`,
  );
}

/** Names of models in a sentence, truncated to the first ones. */
function someOf(names: readonly string[]): string {
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
  return names.slice(0, MOST_NAMES).map(plainLine).join(', ') + more;
}

/** True if an input has an open dimension besides its rows: only then is the server asked for lengths. */
export function hasLength(inputs: readonly TensorDescription[]): boolean {
  return inputs.some(({ shape }) => shape[0] < 0 && shape.slice(1).some((size) => size < 0));
}

const CONFIG = z.object({ parameters: z.object({ buckets: z.object({ string_value: z.string() }) }) });
const LENGTHS = z.array(z.int().positive()).min(1);

/** Lengths in a model's configuration, stored as JSON in `parameters`; null if there are none. */
export function lengthsOf(config: unknown): LengthDescription | null {
  try {
    const buckets = LENGTHS.parse(JSON.parse(CONFIG.parse(config).parameters.buckets.string_value));
    return buckets.every((length, i) => length > (buckets[i - 1] ?? 0)) ? { buckets } : null;
  } catch {
    return null;
  }
}

/** Length of a request's inputs: the longest for 0. */
export function lengthFor({ inputs, lengths }: ModelDescription, length: number): number {
  if (!hasLength(inputs ?? [])) return 0;
  if (length === 0) return lengths?.buckets.at(-1) ?? 1;
  return length;
}

/** Names in an index of models, except those not ready. */
export function readyModels(index: readonly IndexEntry[] | null): string[] | null {
  return index === null ? null : [...new Set(index.filter(isReady).map(({ name }) => name))];
}

function isReady({ state }: IndexEntry): boolean {
  return state === undefined || state === '' || state === 'READY';
}

/** Name and version of a server, as it reports them. */
export function softwareText(name: unknown, version: unknown): string {
  const words = [name, version].filter((word) => typeof word === 'string' && word !== '');
  return plainLine(words.join(' ')) || 'an unnamed server';
}

const TENSORS = z.array(
  z.object({ name: z.string(), datatype: z.string(), shape: z.array(z.int()).max(MOST_DIMENSIONS) }),
);

/** True if untrusted data describes tensors. */
export function isTensorList(value: unknown): value is TensorDescription[] {
  return TENSORS.safeParse(value).success;
}

/** Error for a server that requires a token, or rejects the given one. `reply`: its answer. */
export function refusedToken(
  server: string,
  { token }: { readonly token?: string },
  reply: number | string,
): EscapementError {
  const [what, which] =
    token === undefined ? ['requires a token', 'it'] : ['rejects the token', 'the right one'];
  const hint = `pass a file with ${which} to --token-file`;
  return new EscapementError('E_SERVER', `${server} ${what} (status ${reply}): ${hint}`);
}
