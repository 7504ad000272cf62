import { ProtobufMessage } from './protobuf.js';

/** Value of a node's attribute; a whole number is an INT unless it is wrapped as `{ float }`. */
export type Attribute = number | readonly number[] | { readonly float: number };

/**
 * An ONNX model under construction (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto): FP32 throughout, the
 * first dimension of inputs and outputs is the batch. Values are known by their names.
 */
export class OnnxGraph {
  private readonly graph = new ProtobufMessage();
  private nodes = 0;

  constructor(name: string) {
    this.graph.text(GRAPH_NAME, name);
  }

  /** `shape` without the batch. */
  input(name: string, shape: readonly number[]): string {
    this.graph.message(GRAPH_INPUT, valueInfo(name, shape));
    return name;
  }

  /** Declares a value as an output; `shape` without the batch. */
  output(name: string, shape: readonly number[]): void {
    this.graph.message(GRAPH_OUTPUT, valueInfo(name, shape));
  }

  weights(name: string, shape: readonly number[], values: Float32Array<ArrayBuffer>): string {
    const tensor = new ProtobufMessage();
    for (const size of shape) tensor.integer(TENSOR_DIMS, size);
    tensor.integer(TENSOR_TYPE, FLOAT);
    tensor.text(TENSOR_NAME, name);
    // raw_data is little-endian, as is every machine that onnxruntime-node runs on.
    tensor.bytes(TENSOR_RAW_DATA, new Uint8Array(values.buffer));
    this.graph.message(GRAPH_INITIALIZER, tensor);
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
    for (const input of inputs) node.text(NODE_INPUT, input);
    node.text(NODE_OUTPUT, output);
    node.text(NODE_NAME, `${operator}_${this.nodes++}`);
    node.text(NODE_OPERATOR, operator);
    for (const [name, value] of Object.entries(attributes)) {
      node.message(NODE_ATTRIBUTE, attribute(name, value));
    }
    this.graph.message(GRAPH_NODE, node);
    return output;
  }

  encode(): Uint8Array<ArrayBuffer> {
    return new ProtobufMessage()
      .integer(MODEL_IR_VERSION, IR_VERSION)
      .text(MODEL_PRODUCER, 'escapement')
      .message(MODEL_GRAPH, this.graph)
      .message(MODEL_OPSET, new ProtobufMessage().integer(OPSET_VERSION, OPSET))
      .encode();
  }
}

/** ONNX 1.12, which every onnxruntime of the last years reads. */
const IR_VERSION = 8;
const OPSET = 17;

function valueInfo(name: string, shape: readonly number[]): ProtobufMessage {
  const dims = new ProtobufMessage().message(SHAPE_DIM, new ProtobufMessage().text(DIM_PARAM, 'batch'));
  for (const size of shape) dims.message(SHAPE_DIM, new ProtobufMessage().integer(DIM_VALUE, size));
  const tensor = new ProtobufMessage().integer(TENSOR_TYPE_ELEMENT, FLOAT).message(TENSOR_TYPE_SHAPE, dims);
  return new ProtobufMessage()
    .text(VALUE_NAME, name)
    .message(VALUE_TYPE, new ProtobufMessage().message(TYPE_TENSOR, tensor));
}

function attribute(name: string, value: Attribute): ProtobufMessage {
  const message = new ProtobufMessage().text(ATTRIBUTE_NAME, name);
  if (typeof value === 'number') return message.integer(ATTRIBUTE_I, value).integer(ATTRIBUTE_TYPE, INT);
  if ('float' in value) return message.float(ATTRIBUTE_F, value.float).integer(ATTRIBUTE_TYPE, FLOAT);
  for (const item of value) message.integer(ATTRIBUTE_INTS, item);
  return message.integer(ATTRIBUTE_TYPE, INTS);
}

// Field numbers, by message.
const MODEL_IR_VERSION = 1;
const MODEL_PRODUCER = 2;
const MODEL_GRAPH = 7;
const MODEL_OPSET = 8;
const OPSET_VERSION = 2;
const GRAPH_NODE = 1;
const GRAPH_NAME = 2;
const GRAPH_INITIALIZER = 5;
const GRAPH_INPUT = 11;
const GRAPH_OUTPUT = 12;
const NODE_INPUT = 1;
const NODE_OUTPUT = 2;
const NODE_NAME = 3;
const NODE_OPERATOR = 4;
const NODE_ATTRIBUTE = 5;
const ATTRIBUTE_NAME = 1;
const ATTRIBUTE_F = 2;
const ATTRIBUTE_I = 3;
const ATTRIBUTE_INTS = 8;
const ATTRIBUTE_TYPE = 20;
const TENSOR_DIMS = 1;
const TENSOR_TYPE = 2;
const TENSOR_NAME = 8;
const TENSOR_RAW_DATA = 9;
const VALUE_NAME = 1;
const VALUE_TYPE = 2;
const TYPE_TENSOR = 1;
const TENSOR_TYPE_ELEMENT = 1;
const TENSOR_TYPE_SHAPE = 2;
const SHAPE_DIM = 1;
const DIM_VALUE = 1;
const DIM_PARAM = 2;
// Types of elements, and of attributes: FLOAT is 1 in both.
const FLOAT = 1;
const INT = 2;
const INTS = 7;
