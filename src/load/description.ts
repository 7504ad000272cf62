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
}

/** A model in the index of a server's repository. */
export interface IndexEntry {
  readonly name: string;
  /** `READY`, or anything else: servers are not believed. */
  readonly state?: unknown;
}

/** Dimensions of a tensor: more than any model has. */
const MOST_DIMENSIONS = 100;

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
