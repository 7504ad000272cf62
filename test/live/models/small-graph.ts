import { ProtobufMessage } from '../../../src/live/onnx/protobuf.js';
import { ELEMENT_TYPES } from './fixtures.js';

/** Sizes of a tensor; a name stands for any size. */
export type Dims = readonly (number | string)[];

export interface SmallValue {
  readonly name: string;
  readonly dims: Dims;
  readonly type?: keyof typeof ELEMENT_TYPES;
}

export interface SmallNode {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Whole numbers, or lists of them. */
  readonly attributes?: Readonly<Record<string, number | readonly number[]>>;
}

export interface SmallGraph {
  readonly inputs: readonly SmallValue[];
  readonly outputs: readonly SmallValue[];
  readonly nodes: readonly SmallNode[];
  readonly weights?: Readonly<Record<string, SmallWeights>>;
}

export type SmallWeights = { readonly dims: readonly number[] } & (
  | { readonly floats: readonly number[] }
  | { readonly longs: readonly number[] }
);

/** A node with one output. */
export function node(
  op: string,
  inputs: readonly string[],
  output: string,
  attributes: SmallNode['attributes'] = {},
): SmallNode {
  return { op, inputs, outputs: [output], attributes };
}

export function longs(...values: number[]): SmallWeights {
  return { dims: [values.length], longs: values };
}

export function scalar(value: number): SmallWeights {
  return { dims: [], longs: [value] };
}

/** Any small ONNX model, which need not make sense. */
export function encodeGraph({ inputs, outputs, nodes, weights = {} }: SmallGraph): Uint8Array<ArrayBuffer> {
  const graph = new ProtobufMessage();
  for (const node of nodes) graph.message(1, nodeMessage(node));
  graph.text(2, 'small');
  for (const [name, tensor] of Object.entries(weights)) graph.message(5, weightsMessage(name, tensor));
  for (const value of inputs) graph.message(11, valueMessage(value));
  for (const value of outputs) graph.message(12, valueMessage(value));
  return new ProtobufMessage()
    .integer(1, 8)
    .message(7, graph)
    .message(8, new ProtobufMessage().integer(2, 17))
    .encode();
}

/**
 * A small model of functions that each call the one before twice: `levels` of them stand for 2^levels operators once
 * onnxruntime has inlined them. At 27 it does not come to an end.
 */
export function functionBomb(levels: number): Uint8Array<ArrayBuffer> {
  const domain = 'bomb';
  const call = (level: number, input: string, output: string) =>
    level < 0
      ? nodeMessage(node('Relu', [input], output))
      : nodeMessage(node(`f${level}`, [input], output)).text(7, domain);
  const opset = (name: string, version: number) => new ProtobufMessage().text(1, name).integer(2, version);
  const value = (name: string): SmallValue => ({ name, dims: ['batch', 2] });
  const graph = new ProtobufMessage()
    .message(1, call(levels - 1, 'x', 'y'))
    .text(2, 'bomb')
    .message(11, valueMessage(value('x')))
    .message(12, valueMessage(value('y')));
  const model = new ProtobufMessage()
    .integer(1, 8)
    .message(7, graph)
    .message(8, opset('', 17))
    .message(8, opset(domain, 1));
  for (let level = 0; level < levels; level++) {
    const body = new ProtobufMessage()
      .text(1, `f${level}`)
      .text(4, 'a')
      .text(5, 'c')
      .message(7, call(level - 1, 'a', 'b'))
      .message(7, call(level - 1, 'b', 'c'))
      .message(9, opset('', 17))
      .message(9, opset(domain, 1))
      .text(10, domain);
    model.message(25, body);
  }
  return model.encode();
}

/** A graph with one FP32 input `x` and one FP32 output `y`. */
export function oneToOne(
  x: Dims,
  y: Dims,
  nodes: readonly SmallNode[],
  weights: SmallGraph['weights'] = {},
): Uint8Array<ArrayBuffer> {
  return encodeGraph({ inputs: [{ name: 'x', dims: x }], outputs: [{ name: 'y', dims: y }], nodes, weights });
}

function nodeMessage({ op, inputs, outputs, attributes = {} }: SmallNode): ProtobufMessage {
  const node = new ProtobufMessage();
  for (const input of inputs) node.text(1, input);
  for (const output of outputs) node.text(2, output);
  node.text(4, op);
  for (const [name, value] of Object.entries(attributes)) {
    const attribute = new ProtobufMessage().text(1, name);
    if (typeof value === 'number') attribute.integer(3, value).integer(20, 2);
    else {
      for (const item of value) attribute.integer(8, item);
      attribute.integer(20, 7);
    }
    node.message(5, attribute);
  }
  return node;
}

function weightsMessage(name: string, tensor: SmallWeights): ProtobufMessage {
  const message = new ProtobufMessage();
  for (const size of tensor.dims) message.integer(1, size);
  const isFloat = 'floats' in tensor;
  const values = isFloat
    ? Float32Array.from(tensor.floats)
    : BigInt64Array.from(tensor.longs, (long) => BigInt(long));
  return message
    .integer(2, isFloat ? ELEMENT_TYPES.FP32 : ELEMENT_TYPES.INT64)
    .text(8, name)
    .bytes(9, new Uint8Array(values.buffer));
}

function valueMessage({ name, dims, type = 'FP32' }: SmallValue): ProtobufMessage {
  const shape = new ProtobufMessage();
  for (const size of dims) {
    const dim = new ProtobufMessage();
    shape.message(1, typeof size === 'number' ? dim.integer(1, size) : dim.text(2, size));
  }
  const tensor = new ProtobufMessage().integer(1, ELEMENT_TYPES[type]).message(2, shape);
  return new ProtobufMessage().text(1, name).message(2, new ProtobufMessage().message(1, tensor));
}
