import * as onnx from './onnx-fields.js';
import { ProtobufMessage } from './protobuf.js';

/** Value of a node's attribute; a whole number is an INT unless it is wrapped as `{ float }`. */
type Attribute = number | readonly number[] | { readonly float: number };

/**
 * An ONNX model under construction (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto): its inputs and outputs
 * are FP32, and their first dimension is the batch. Values are known by their names.
 */
export class OnnxGraph {
  private readonly graph = new ProtobufMessage();
  private nodes = 0;

  constructor(name: string) {
    this.graph.text(onnx.GRAPH_NAME, name);
  }

  /** `shape` without the batch. */
  input(name: string, shape: readonly number[]): string {
    this.graph.message(onnx.GRAPH_INPUT, valueInfo(name, shape));
    return name;
  }

  /** Declares a value as an output; `shape` without the batch. */
  output(name: string, shape: readonly number[]): void {
    this.graph.message(onnx.GRAPH_OUTPUT, valueInfo(name, shape));
  }

  /** `values` are FP32, or the bits of FP16. */
  weights(
    name: string,
    shape: readonly number[],
    values: Float32Array<ArrayBuffer> | Uint16Array<ArrayBuffer>,
  ): string {
    const tensor = new ProtobufMessage();
    for (const size of shape) tensor.integer(onnx.TENSOR_DIMS, size);
    tensor.integer(onnx.TENSOR_TYPE, values instanceof Float32Array ? onnx.FLOAT : onnx.FLOAT16);
    tensor.text(onnx.TENSOR_NAME, name);
    // raw_data is little-endian, as is every machine that onnxruntime-node runs on.
    tensor.bytes(onnx.TENSOR_RAW_DATA, new Uint8Array(values.buffer));
    this.graph.message(onnx.GRAPH_INITIALIZER, tensor);
    return name;
  }

  /** Adds an operator with one output, and returns the output's name. */
  node(
    operator: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, Attribute>> = {},
    output = `${operator.toLowerCase()}_${this.nodes}`,
  ): string {
    const node = new ProtobufMessage();
    for (const input of inputs) node.text(onnx.NODE_INPUT, input);
    node.text(onnx.NODE_OUTPUT, output);
    node.text(onnx.NODE_NAME, `${operator}_${this.nodes++}`);
    node.text(onnx.NODE_OPERATOR, operator);
    for (const [name, value] of Object.entries(attributes)) {
      node.message(onnx.NODE_ATTRIBUTE, attribute(name, value));
    }
    this.graph.message(onnx.GRAPH_NODE, node);
    return output;
  }

  /** Adds a conversion, and returns its output's name. */
  cast(value: string, to: 'FP32' | 'FP16', output?: string): string {
    return this.node('Cast', [value], { to: to === 'FP32' ? onnx.FLOAT : onnx.FLOAT16 }, output);
  }

  encode(): Uint8Array<ArrayBuffer> {
    return new ProtobufMessage()
      .integer(onnx.MODEL_IR_VERSION, IR_VERSION)
      .text(onnx.MODEL_PRODUCER, 'escapement')
      .message(onnx.MODEL_GRAPH, this.graph)
      .message(onnx.MODEL_OPSET, new ProtobufMessage().integer(onnx.OPSET_VERSION, OPSET))
      .encode();
  }
}

/** ONNX 1.12, which every onnxruntime of the last years reads. */
const IR_VERSION = 8;
const OPSET = 17;

function valueInfo(name: string, shape: readonly number[]): ProtobufMessage {
  const dims = new ProtobufMessage().message(
    onnx.SHAPE_DIM,
    new ProtobufMessage().text(onnx.DIM_PARAM, 'batch'),
  );
  for (const size of shape) dims.message(onnx.SHAPE_DIM, new ProtobufMessage().integer(onnx.DIM_VALUE, size));
  const tensor = new ProtobufMessage()
    .integer(onnx.TENSOR_TYPE_ELEMENT, onnx.FLOAT)
    .message(onnx.TENSOR_TYPE_SHAPE, dims);
  return new ProtobufMessage()
    .text(onnx.VALUE_NAME, name)
    .message(onnx.VALUE_TYPE, new ProtobufMessage().message(onnx.TYPE_TENSOR, tensor));
}

function attribute(name: string, value: Attribute): ProtobufMessage {
  const message = new ProtobufMessage().text(onnx.ATTRIBUTE_NAME, name);
  if (typeof value === 'number')
    return message.integer(onnx.ATTRIBUTE_I, value).integer(onnx.ATTRIBUTE_TYPE, onnx.INT);
  if ('float' in value)
    return message.float(onnx.ATTRIBUTE_F, value.float).integer(onnx.ATTRIBUTE_TYPE, onnx.FLOAT);
  for (const item of value) message.integer(onnx.ATTRIBUTE_INTS, item);
  return message.integer(onnx.ATTRIBUTE_TYPE, onnx.INTS);
}
