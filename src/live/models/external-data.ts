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

/** Other files in which an ONNX model keeps weights, relative to its folder: each once, sorted. */
export function externalFiles(onnx: Uint8Array): string[] {
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
