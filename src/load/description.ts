import { plainLine } from './reply.js';
import type { TensorDescription } from './tensors.js';

/** What a server tells of itself before a run. */
export interface ServerDescription {
  /** Its name and version, for people. */
  readonly software: string;
  /** It takes tensors as bytes instead of JSON. */
  readonly binary: boolean;
  /** By model of the run. */
  readonly models: readonly ModelDescription[];
}

/** A model as its server describes it. */
export interface ModelDescription {
  readonly inputs: readonly TensorDescription[];
  /** Empty where the server does not describe them. */
  readonly outputs: readonly TensorDescription[];
  /** Absent: the server says nothing of lengths. */
  readonly lengths?: LengthDescription;
}

/** What a server says of the lengths that a model's inputs may have: one more open dimension than the batch. */
export interface LengthDescription {
  /** Ascending. */
  readonly buckets: readonly number[];
  /** The server takes any up to the longest; otherwise only these. */
  readonly padded: boolean;
}

/** A model in the index of a server's repository. */
export interface IndexEntry {
  readonly name: string;
  /** `READY`, or anything else: servers are not believed. */
  readonly state?: unknown;
}

/** Dimensions of a tensor: more than any model has. */
const MOST_DIMENSIONS = 100;

/** Whether requests choose a size of an input other than the number of rows: only then a server is asked for lengths. */
export function hasLength(inputs: readonly TensorDescription[]): boolean {
  return inputs.some(({ shape }) => shape[0] < 0 && shape.slice(1).some((size) => size < 0));
}

/** The lengths in a model's configuration, whose `parameters` have them as JSON. Null: it has none. */
export function lengthsOf(config: unknown): LengthDescription | null {
  const { parameters } = (config ?? {}) as { parameters?: unknown };
  const { buckets, fill } = (parameters ?? {}) as Partial<Record<string, { string_value?: unknown }>>;
  if (typeof buckets?.string_value !== 'string') return null;
  try {
    const lengths: unknown = JSON.parse(buckets.string_value);
    if (!Array.isArray(lengths) || lengths.length === 0) return null;
    const ascend = lengths.every(
      (length, i) => Number.isSafeInteger(length) && length > (lengths[i - 1] ?? 0),
    );
    return ascend ? { buckets: lengths, padded: fill !== undefined } : null;
  } catch {
    return null;
  }
}

/** The length of a request's inputs: the longest for 0, and one that the model takes if it pads none. */
export function lengthFor({ inputs, lengths }: ModelDescription, length: number): number {
  if (!hasLength(inputs)) return 0;
  if (length === 0) return lengths?.buckets.at(-1) ?? 1;
  if (lengths === undefined || lengths.padded) return length;
  return lengths.buckets.find((bucket) => bucket >= length) ?? length;
}

/** The names of an index of models. */
export function namesOf(index: readonly IndexEntry[] | null): string[] | null {
  return index === null ? null : [...new Set(index.map(({ name }) => name))];
}

/** The names of an index of models, without those that it says are not ready. */
export function readyModels(index: readonly IndexEntry[] | null): string[] | null {
  if (index === null) return null;
  const ready = index.filter(({ state }) => state === undefined || state === '' || state === 'READY');
  return [...new Set(ready.map(({ name }) => name))];
}

/** Name and version of a server, which says both itself. */
export function softwareText(name: unknown, version: unknown): string {
  const words = [name, version].filter((word) => typeof word === 'string' && word !== '');
  return plainLine(words.join(' ')) || 'an unnamed server';
}

/** Whether a server's words describe tensors. */
export function isTensorList(value: unknown): value is TensorDescription[] {
  return Array.isArray(value) && value.every(isTensor);
}

function isTensor(value: unknown): value is TensorDescription {
  if (typeof value !== 'object' || value === null) return false;
  const { name, datatype, shape } = value as Partial<Record<string, unknown>>;
  return (
    typeof name === 'string' &&
    typeof datatype === 'string' &&
    Array.isArray(shape) &&
    shape.length <= MOST_DIMENSIONS &&
    shape.every(Number.isSafeInteger)
  );
}
