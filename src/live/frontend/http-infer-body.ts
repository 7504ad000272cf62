import type { ModelSignature, ServedModel, Shape } from '../model.js';
import type { FrontendSettings } from './frontend.js';
import type { FrontendRequest } from './http-request.js';
import { InputSet } from './inputs.js';
import { bytesOfJson } from './json-data.js';
import { type ParsedJson, parseJson } from './json-parse.js';
import { outputIndex } from './outputs.js';
import { Refusal, refuseForeign, shown } from './refusal.js';
import { requestSloNs } from './slo.js';

/** An output that the client wants, and how. */
export interface WantedOutput {
  /** Index into the outputs of the model. */
  readonly index: number;
  readonly binary: boolean;
}

/** What the body of an infer request says, checked against the model. */
export interface InferBody {
  readonly id: string | null;
  /** Requests in the batch. */
  readonly count: number;
  readonly sloNs: number;
  /** For each input of the model, requests one after the other. */
  readonly inputs: readonly Uint8Array[];
  /** Their whole shapes; only for a model with free sizes. */
  readonly shapes: readonly Shape[] | undefined;
  readonly outputs: readonly WantedOutput[];
}

type Json = Readonly<Record<string, unknown>>;

/** Reads JSON, and the binary tensors behind it (binary tensor data extension). Throws a refusal. */
export function parseInferBody(
  request: FrontendRequest,
  body: Buffer,
  model: ServedModel,
  settings: FrontendSettings,
): InferBody {
  const jsonBytes = jsonLength(request, body);
  checkJsonSize(jsonBytes, settings.maxJsonBytes);
  const { root, hasInfinities } = parse(body.toString('utf8', 0, jsonBytes));
  const parameters = objectOf(root.parameters, 'parameters');
  const inputs = new InputSet(model, settings);
  readInputs(root.inputs, inputs, body, jsonBytes, hasInfinities);
  return {
    id: idOf(root.id),
    sloNs: requestSloNs(parameters.slo_ms, parameters.timeout, model, settings.defaultSloNs),
    inputs: inputs.complete(),
    shapes: inputs.shapes,
    count: inputs.count,
    outputs: wantedOutputs(root.outputs, model.signature, parameters.binary_data_output === true),
  };
}

/** A body that must be a JSON object. Throws a refusal. */
export function parseObject(text: string): Json {
  return parse(text).root;
}

function parse(text: string): { readonly root: Json; readonly hasInfinities: boolean } {
  let parsed: ParsedJson;
  try {
    parsed = parseJson(text);
  } catch (error) {
    throw new Refusal('invalid', `the body is not JSON: ${(error as Error).message}`);
  }
  const { value, hasInfinities } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Refusal('invalid', `the body is not a JSON object: ${shown(value)}`);
  return { root: value as Json, hasInfinities };
}

/** A member that is an object where it is given at all. */
export function objectOf(value: unknown, where: string): Json {
  if (value === undefined) return NOTHING;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  throw new Refusal('invalid', `${where}: expected an object, got ${shown(value)}`);
}

/** Throws a refusal if it is too large to be parsed. */
function checkJsonSize(bytes: number, maxJsonBytes: number): void {
  if (bytes <= maxJsonBytes) return;
  throw new Refusal(
    'tooLarge',
    `the JSON has ${bytes} bytes, of at most ${maxJsonBytes}: send large tensors as binary data`,
  );
}

const NOTHING: Json = Object.freeze({});

function jsonLength({ headers }: FrontendRequest, body: Buffer): number {
  const header = headers['inference-header-content-length'];
  if (header === undefined) return body.length;
  const length = /^\d{1,15}$/.test(header as string) ? Number(header) : Number.POSITIVE_INFINITY;
  if (length <= body.length) return length;
  throw new Refusal(
    'invalid',
    `header Inference-Header-Content-Length: expected at most the body's ${body.length} bytes, got ${shown(header)}`,
  );
}

function idOf(id: unknown): string | null {
  if (id === undefined) return null;
  if (typeof id === 'string') return id;
  throw new Refusal('invalid', `id: expected a string, got ${shown(id)}`);
}

function readInputs(
  tensors: unknown,
  inputs: InputSet,
  body: Buffer,
  binaryFrom: number,
  hasInfinities: boolean,
): void {
  if (!Array.isArray(tensors))
    throw new Refusal('invalid', `inputs: expected an array, got ${shown(tensors)}`);
  let at = binaryFrom;
  for (const item of tensors) {
    const tensor = objectOf(item ?? null, 'inputs');
    const index = inputs.claim(tensor.name, tensor.datatype, tensor.shape);
    const { name, datatype } = inputs.signatureOf(index);
    const bytes = tensor.parameters === undefined ? -1 : binarySize(tensor, name);
    if (bytes < 0) {
      const sizes = tensor.shape as number[];
      inputs.put(index, bytesOfJson(name, datatype, sizes, tensor.data, hasInfinities));
    } else if (tensor.data !== undefined) {
      throw new Refusal('invalid', `input ${shown(name)}: has both data and binary_data_size`);
    } else {
      inputs.put(index, body.subarray(at, at + bytes));
      at += bytes;
    }
  }
  if (at < body.length) {
    const stray = body.length - at;
    throw new Refusal('invalid', `the body has ${stray} bytes of binary data that belong to no input`);
  }
}

/** Bytes of a tensor that follows as binary data; −1: it does not. */
function binarySize(tensor: Json, name: string): number {
  const parameters = objectOf(tensor.parameters, `input ${shown(name)}: parameters`);
  refuseForeign(parameters, 'binary_data_size', `input ${shown(name)}`);
  const size = parameters.binary_data_size;
  if (size === undefined) return -1;
  if (Number.isSafeInteger(size) && (size as number) >= 0) return size as number;
  throw new Refusal(
    'invalid',
    `input ${shown(name)}: binary_data_size: expected a number of bytes, got ${shown(size)}`,
  );
}

function wantedOutputs(wanted: unknown, signature: ModelSignature, binary: boolean): readonly WantedOutput[] {
  if (wanted === undefined) return signature.outputs.map((_, index) => ({ index, binary }));
  if (!Array.isArray(wanted))
    throw new Refusal('invalid', `outputs: expected an array, got ${shown(wanted)}`);
  return wanted.map((item) => {
    const output = objectOf(item ?? null, 'outputs');
    const index = outputIndex(signature, output.name);
    const parameters = objectOf(output.parameters, `output ${shown(output.name)}: parameters`);
    refuseForeign(parameters, 'binary_data', `output ${shown(output.name)}`);
    const own = parameters.binary_data;
    if (own !== undefined && typeof own !== 'boolean')
      throw new Refusal(
        'invalid',
        `output ${shown(output.name)}: binary_data: expected true or false, got ${shown(own)}`,
      );
    return { index, binary: own ?? binary };
  });
}
