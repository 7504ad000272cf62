import { readFileSync } from 'node:fs';
import {
  FLOAT16,
  GRAPH_INITIALIZER,
  MODEL_GRAPH,
  TENSOR_NAME,
  TENSOR_RAW_DATA,
  TENSOR_TYPE,
} from '../onnx/onnx-fields.js';
import { readFields } from '../onnx/protobuf.js';
import type { Precision } from './precision.js';

/** Weights of one layer, as stored in an ONNX file. */
interface StoredWeights {
  readonly name: string;
  /** Element type by its number in onnx.proto. */
  readonly type: number;
  /** Little-endian; empty if stored in another way. */
  readonly bytes: Uint8Array;
}

/** All weights of an ONNX model. */
export function* readWeights(onnx: Uint8Array): Generator<StoredWeights> {
  for (const graph of nested(onnx, MODEL_GRAPH)) {
    for (const tensor of nested(graph, GRAPH_INITIALIZER)) {
      const fields = new Map([...readFields(tensor)].map(({ field, value }) => [field, value]));
      yield {
        name: new TextDecoder().decode(fields.get(TENSOR_NAME) as Uint8Array | undefined),
        type: fields.get(TENSOR_TYPE) as number,
        bytes: (fields.get(TENSOR_RAW_DATA) as Uint8Array | undefined) ?? new Uint8Array(),
      };
    }
  }
}

/** FP16 for a model with FP16 weights. */
export function precisionOf(onnxPath: string): Precision {
  for (const { type } of readWeights(readFileSync(onnxPath))) if (type === FLOAT16) return 'fp16';
  return 'fp32';
}

function* nested(message: Uint8Array, wanted: number): Generator<Uint8Array> {
  for (const { field, value } of readFields(message)) {
    if (field === wanted && typeof value !== 'number') yield value;
  }
}
