import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { fileDigest } from '../../base/files/file-digest.js';
import { whileUnchanged } from '../../base/files/while-unchanged.js';
import {
  ATTRIBUTE_GRAPH,
  ATTRIBUTE_GRAPHS,
  ATTRIBUTE_TENSOR,
  ATTRIBUTE_TENSORS,
  ENTRY_KEY,
  ENTRY_VALUE,
  FUNCTION_NODE,
  GRAPH_INITIALIZER,
  GRAPH_NODE,
  GRAPH_SPARSE_INITIALIZER,
  MODEL_FUNCTION,
  MODEL_GRAPH,
  NODE_ATTRIBUTE,
  SPARSE_INDICES,
  SPARSE_VALUES,
  TENSOR_EXTERNAL_DATA,
} from '../onnx/onnx-fields.js';
import { readFields } from '../onnx/protobuf.js';
import { isWithinFolder } from './labels.js';

/**
 * SHA-256 of a model, hex: of its file and the adjacent files that hold weights. Products of a model, such as its
 * optimized form and its profile, belong to this digest, whatever the times and places of its files. Throws
 * `E_MODEL_FILE` if the model cannot be read.
 */
export function modelDigest(onnxPath: string): string {
  try {
    return digestOf(onnxPath);
  } catch (error) {
    if (!(error instanceof EscapementError)) throw error;
    throw new EscapementError('E_MODEL_FILE', error.what, error.place);
  }
}

const externalNames = whileUnchanged((onnxPath) => externalFiles(readFileSync(onnxPath)));
const NO_FILE = 'not there';

function digestOf(onnxPath: string): string {
  // Names the file if it is missing.
  const names = externalNames(onnxPath);
  const hash = createHash('sha256').update(fileDigest(onnxPath) ?? NO_FILE);
  for (const name of names) {
    // onnxruntime reads nothing outside the model's folder, and reports missing files itself.
    const digest = isWithinFolder(name) ? fileDigest(join(dirname(onnxPath), name)) : null;
    hash.update(JSON.stringify([name, digest ?? NO_FILE]));
  }
  return hash.digest('hex');
}

/** Other files in which an ONNX model keeps weights, relative to its folder: each once, sorted. */
function externalFiles(onnx: Uint8Array): string[] {
  const names = new Set<string>();
  visit(onnx, MODEL, names);
  return [...names].sort();
}

/** A type of message, by the numbers of the fields that may contain a tensor, at any depth. */
type Kind = Map<number, Kind | 'location'>;

const TENSOR: Kind = new Map([[TENSOR_EXTERNAL_DATA, 'location']]);
const SPARSE: Kind = new Map([
  [SPARSE_VALUES, TENSOR],
  [SPARSE_INDICES, TENSOR],
]);
const NODE: Kind = new Map();
const GRAPH: Kind = new Map([
  [GRAPH_NODE, NODE],
  [GRAPH_INITIALIZER, TENSOR],
  [GRAPH_SPARSE_INITIALIZER, SPARSE],
]);
const ATTRIBUTE: Kind = new Map([
  [ATTRIBUTE_TENSOR, TENSOR],
  [ATTRIBUTE_TENSORS, TENSOR],
  [ATTRIBUTE_GRAPH, GRAPH],
  [ATTRIBUTE_GRAPHS, GRAPH],
]);
NODE.set(NODE_ATTRIBUTE, ATTRIBUTE);
const MODEL: Kind = new Map([
  [MODEL_GRAPH, GRAPH],
  [MODEL_FUNCTION, new Map([[FUNCTION_NODE, NODE]])],
]);

function visit(message: Uint8Array, kind: Kind, names: Set<string>): void {
  for (const { field, value } of readFields(message)) {
    const inner = kind.get(field);
    if (inner === undefined || typeof value === 'number') continue;
    if (inner === 'location') addLocation(value, names);
    else visit(value, inner, names);
  }
}

function addLocation(entry: Uint8Array, names: Set<string>): void {
  const fields = new Map([...readFields(entry)].map(({ field, value }) => [field, value]));
  const text = (field: number) => new TextDecoder().decode(fields.get(field) as Uint8Array | undefined);
  if (text(ENTRY_KEY) === 'location') names.add(text(ENTRY_VALUE));
}
