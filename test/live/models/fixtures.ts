import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DEFAULT_SESSION, type OrtDeviceSpec } from '../../../src/live/device.js';
import { ProtobufMessage } from '../../../src/live/onnx/protobuf.js';

export const CPU: OrtDeviceSpec = { kind: 'cpu', adapter: 0, session: DEFAULT_SESSION };

/** Numbers of the ONNX element types that tests use. */
export const ELEMENT_TYPES = {
  FP32: 1,
  UINT8: 2,
  INT8: 3,
  UINT16: 4,
  INT16: 5,
  INT32: 6,
  INT64: 7,
  STRING: 8,
  BOOL: 9,
  FP16: 10,
  FP64: 11,
  UINT32: 12,
  UINT64: 13,
} as const;

/** A new empty folder. */
export function tempDir(): string {
  return mkdtempSync(join(tmpdir(), 'escapement-'));
}

/** Writes a file below `dir`, with its folders, and returns its path. */
export function writeIn(dir: string, name: string, content: string | Uint8Array): string {
  const path = join(dir, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

/** An ONNX model that passes its input `x` on as `y`, of any element type and dimensions. */
export function identityModel(elementType: number, dims: readonly (number | string)[]): Uint8Array {
  const value = (name: string) => {
    const shape = new ProtobufMessage();
    for (const size of dims) {
      const dim = new ProtobufMessage();
      shape.message(1, typeof size === 'number' ? dim.integer(1, size) : dim.text(2, size));
    }
    const tensor = new ProtobufMessage().integer(1, elementType).message(2, shape);
    return new ProtobufMessage().text(1, name).message(2, new ProtobufMessage().message(1, tensor));
  };
  const node = new ProtobufMessage().text(1, 'x').text(2, 'y').text(4, 'Identity');
  const graph = new ProtobufMessage()
    .message(1, node)
    .text(2, 'identity')
    .message(11, value('x'))
    .message(12, value('y'));
  return new ProtobufMessage()
    .integer(1, 8)
    .message(7, graph)
    .message(8, new ProtobufMessage().integer(2, 17))
    .encode();
}

/** A model that multiplies its input `x` by a weight, or by the one in the file of that name. */
export function scalingModel(weight: number | string): Uint8Array {
  const value = (name: string) =>
    new ProtobufMessage()
      .text(1, name)
      .message(2, new ProtobufMessage().message(1, new ProtobufMessage().integer(1, 1).message(2, ONE)));
  const tensor = new ProtobufMessage().integer(1, 1).integer(2, 1).text(8, 'w');
  if (typeof weight === 'number') tensor.bytes(9, new Uint8Array(Float32Array.of(weight).buffer));
  else {
    const location = new ProtobufMessage().text(1, 'location').text(2, weight);
    tensor.message(13, location).integer(14, 1);
  }
  const graph = new ProtobufMessage()
    .message(1, new ProtobufMessage().text(1, 'x').text(1, 'w').text(2, 'y').text(4, 'Mul'))
    .text(2, 'scaling')
    .message(5, tensor)
    .message(11, value('x'))
    .message(12, value('y'));
  return new ProtobufMessage()
    .integer(1, 8)
    .message(7, graph)
    .message(8, new ProtobufMessage().integer(2, 17))
    .encode();
}

const ONE = new ProtobufMessage().message(1, new ProtobufMessage().integer(1, 1));

/** The error that a promise rejects with. */
export async function failure(promise: Promise<unknown>): Promise<{ code: string; message: string }> {
  try {
    await promise;
  } catch (error) {
    return error as { code: string; message: string };
  }
  throw new Error('expected a failure');
}
