import * as onnx from './onnx-fields.js';
import { ProtobufMessage } from './protobuf.js';

/** Value of a node's attribute; an integer is an INT unless wrapped as `{ float }`. */
type Attribute = number | readonly number[] | { readonly float: number };

/** Sizes without the batch; a variable size has a name. */
type GraphShape = readonly (number | string)[];

const ELEMENTS = { FP32: onnx.FLOAT, FP16: onnx.FLOAT16, INT64: onnx.INT64 } as const;
type Element = keyof typeof ELEMENTS;

/**
 * An ONNX model under construction (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto): the first dimension of its
 * inputs and outputs is the batch. Values are identified by name.
 */
export class OnnxGraph {
  private readonly graph = new ProtobufMessage();
  private nodes = 0;

  constructor(name: string) {
    this.graph.text(onnx.GRAPH_NAME, name);
  }

  input(name: string, shape: GraphShape, element: Element = 'FP32'): string {
    this.graph.message(onnx.GRAPH_INPUT, valueInfo(name, shape, element));
    return name;
  }

  /** Declares an FP32 value as an output. */
  output(name: string, shape: GraphShape): void {
    this.graph.message(onnx.GRAPH_OUTPUT, valueInfo(name, shape, 'FP32'));
  }

  /** `values` are FP32, the bits of FP16, or INT64. */
  weights(
    name: string,
    shape: readonly number[],
    values: Float32Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | BigInt64Array<ArrayBuffer>,
  ): string {
    const tensor = new ProtobufMessage();
    for (const size of shape) tensor.integer(onnx.TENSOR_DIMS, size);
    tensor.integer(onnx.TENSOR_TYPE, ELEMENTS[elementOf(values)]);
    tensor.text(onnx.TENSOR_NAME, name);
    // raw_data is little-endian, like every machine that onnxruntime-node runs on.
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
  cast(value: string, to: Element, output?: string): string {
    return this.node('Cast', [value], { to: ELEMENTS[to] }, output);
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

/** ONNX 1.12, which all recent versions of onnxruntime read. */
const IR_VERSION = 8;
const OPSET = 17;

function elementOf(values: Float32Array | Uint16Array | BigInt64Array): Element {
  if (values instanceof Float32Array) return 'FP32';
  return values instanceof Uint16Array ? 'FP16' : 'INT64';
}

function valueInfo(name: string, shape: GraphShape, element: Element): ProtobufMessage {
  const dims = new ProtobufMessage();
  for (const size of ['batch', ...shape]) {
    const dim = new ProtobufMessage();
    if (typeof size === 'number') dim.integer(onnx.DIM_VALUE, size);
    else dim.text(onnx.DIM_PARAM, size);
    dims.message(onnx.SHAPE_DIM, dim);
  }
  const tensor = new ProtobufMessage()
    .integer(onnx.TENSOR_TYPE_ELEMENT, ELEMENTS[element])
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
