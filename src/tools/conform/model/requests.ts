import { countOf, DATATYPES, elementsOf, stringsOf, type Tensor } from './tensors.js';

/** An input of a JSON request. */
export interface JsonInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: unknown;
}

/** Inputs with their data as JSON, in one list each. */
export function jsonInputs(tensors: readonly Tensor[]): JsonInput[] {
  return tensors.map((tensor) => {
    const { name, datatype, shape } = tensor;
    return { name, datatype, shape, data: elementsOf(tensor) };
  });
}

/** Inputs with their data in lists of lists, as deep as the shape. */
export function nestedInputs(tensors: readonly Tensor[]): JsonInput[] {
  return jsonInputs(tensors).map((input) => ({
    ...input,
    data: nested(input.data as unknown[], input.shape),
  }));
}

function nested(elements: readonly unknown[], shape: readonly number[]): readonly unknown[] {
  const [first = 1, ...rest] = shape;
  if (rest.length === 0) return elements;
  const each = countOf(rest);
  return Array.from({ length: first }, (_, i) => nested(elements.slice(i * each, (i + 1) * each), rest));
}

export interface BinaryRequest {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** A request whose first `binary` inputs follow the JSON as bytes. */
export function binaryRequest(
  tensors: readonly Tensor[],
  more: object = {},
  binary = tensors.length,
): BinaryRequest {
  const inputs = jsonInputs(tensors).map(({ data, ...input }, i) =>
    i < binary
      ? { ...input, parameters: { binary_data_size: tensors[i]!.bytes.length } }
      : { ...input, data },
  );
  return binaryBody(
    { ...more, inputs },
    tensors.slice(0, binary).map(({ bytes }) => bytes),
  );
}

/** JSON and bytes as one body. */
export function binaryBody(json: object, parts: readonly Buffer[]): BinaryRequest {
  const head = Buffer.from(JSON.stringify(json));
  return {
    body: Buffer.concat([head, ...parts]),
    headers: {
      'content-type': 'application/octet-stream',
      'inference-header-content-length': String(head.length),
    },
  };
}

/** A ModelInferRequest with raw inputs. */
export function rawGrpcRequest(model: string, tensors: readonly Tensor[], more: object = {}): object {
  return {
    model_name: model,
    inputs: tensors.map(({ name, datatype, shape }) => ({ name, datatype, shape })),
    raw_input_contents: tensors.map(({ bytes }) => bytes),
    ...more,
  };
}

/** A ModelInferRequest with lists of values; null: a type has no such list. */
export function typedGrpcRequest(
  model: string,
  tensors: readonly Tensor[],
  more: object = {},
): object | null {
  const inputs = tensors.map((tensor) => {
    const { name, datatype, shape, bytes } = tensor;
    const { contents } = DATATYPES[datatype]!;
    const values = datatype === 'BYTES' ? stringsOf(bytes) : elementsOf(tensor);
    return contents === null ? null : { name, datatype, shape, contents: { [contents]: values } };
  });
  return inputs.includes(null) ? null : { model_name: model, inputs, ...more };
}
