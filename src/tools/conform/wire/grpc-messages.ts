import type { MethodDefinition } from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';

/**
 * The protocol's messages by field numbers, written from its specification rather than taken from our server, which
 * would share its mistakes. A field is `type number`, `[type number]` repeated, or a map.
 */
const TENSOR = {
  name: 'string 1',
  datatype: 'string 2',
  shape: '[int64 3]',
  parameters: 'map InferParameter 4',
};
const NAMED = { name: 'string 1', version: 'string 2' };
const COUNTED = { count: 'uint64 1', ns: 'uint64 2' };

const MESSAGES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Empty: {},
  Live: { live: 'bool 1' },
  Ready: { ready: 'bool 1' },
  Named: NAMED,
  ServerMetadata: { ...NAMED, extensions: '[string 3]' },
  TensorMetadata: { name: 'string 1', datatype: 'string 2', shape: '[int64 3]' },
  ModelMetadata: {
    name: 'string 1',
    versions: '[string 2]',
    platform: 'string 3',
    inputs: '[TensorMetadata 4]',
    outputs: '[TensorMetadata 5]',
  },
  InferParameter: { bool_param: 'bool 1', int64_param: 'int64 2', string_param: 'string 3' },
  Contents: {
    bool_contents: '[bool 1]',
    int_contents: '[int32 2]',
    int64_contents: '[int64 3]',
    uint_contents: '[uint32 4]',
    uint64_contents: '[uint64 5]',
    fp32_contents: '[float 6]',
    fp64_contents: '[double 7]',
    bytes_contents: '[bytes 8]',
  },
  Tensor: { ...TENSOR, contents: 'Contents 5' },
  RequestedOutput: { name: 'string 1', parameters: 'map InferParameter 2' },
  InferRequest: {
    model_name: 'string 1',
    model_version: 'string 2',
    id: 'string 3',
    parameters: 'map InferParameter 4',
    inputs: '[Tensor 5]',
    outputs: '[RequestedOutput 6]',
    raw_input_contents: '[bytes 7]',
  },
  InferResponse: {
    model_name: 'string 1',
    model_version: 'string 2',
    id: 'string 3',
    parameters: 'map InferParameter 4',
    outputs: '[Tensor 5]',
    raw_output_contents: '[bytes 6]',
  },
  StreamResponse: { error_message: 'string 1', infer_response: 'InferResponse 2' },
  ConfigTensor: { name: 'string 1', data_type: 'int32 2', dims: '[int64 4]' },
  // Of the configuration's many fields, those that every model has.
  Config: { name: 'string 1', platform: 'string 2', max_batch_size: 'int32 4', input: '[ConfigTensor 5]' },
  ConfigResponse: { config: 'Config 1' },
  Counted: COUNTED,
  InferStatistics: { success: 'Counted 1', fail: 'Counted 2', queue: 'Counted 3' },
  Statistics: {
    ...NAMED,
    last_inference: 'uint64 3',
    inference_count: 'uint64 4',
    execution_count: 'uint64 5',
    inference_stats: 'InferStatistics 6',
  },
  StatisticsResponse: { model_stats: '[Statistics 1]' },
  IndexRequest: { repository_name: 'string 1', ready: 'bool 2' },
  IndexEntry: { ...NAMED, state: 'string 3', reason: 'string 4' },
  Index: { models: '[IndexEntry 1]' },
  RepositoryRequest: { repository_name: 'string 1', model_name: 'string 2' },
};

const METHODS = {
  ServerLive: ['Empty', 'Live'],
  ServerReady: ['Empty', 'Ready'],
  ModelReady: ['Named', 'Ready'],
  ServerMetadata: ['Empty', 'ServerMetadata'],
  ModelMetadata: ['Named', 'ModelMetadata'],
  ModelInfer: ['InferRequest', 'InferResponse'],
  ModelStreamInfer: ['InferRequest', 'StreamResponse'],
  ModelConfig: ['Named', 'ConfigResponse'],
  ModelStatistics: ['Named', 'StatisticsResponse'],
  RepositoryIndex: ['IndexRequest', 'Index'],
  RepositoryModelLoad: ['RepositoryRequest', 'Empty'],
  RepositoryModelUnload: ['RepositoryRequest', 'Empty'],
} as const;

export type GrpcMethod = keyof typeof METHODS;

/** How each method's messages are written and read. */
export const GRPC_METHODS = load('inference', 'GRPCInferenceService', METHODS, MESSAGES) as Readonly<
  Record<GrpcMethod, MethodDefinition<object, object>>
>;

/** The health service of gRPC itself. */
export const HEALTH_CHECK = load(
  'grpc.health.v1',
  'Health',
  { Check: ['Request', 'Response'] },
  { Request: { service: 'string 1' }, Response: { status: 'int32 1' } },
).Check!;

function load(
  name: string,
  service: string,
  methods: Readonly<Record<string, readonly [string, string]>>,
  messages: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Readonly<Record<string, MethodDefinition<object, object>>> {
  const types = Object.entries(messages).map(([message, fields]) => [
    message,
    { fields: Object.fromEntries(Object.entries(fields).map(([field, text]) => [field, fieldOf(text)])) },
  ]);
  const calls = Object.entries(methods).map(([method, [requestType, responseType]]) => [
    method,
    { requestType, responseType },
  ]);
  const leaf = {
    nested: { ...Object.fromEntries(types), [service]: { methods: Object.fromEntries(calls) } },
  };
  const root = name.split('.').reduceRight((inner, part) => ({ nested: { [part]: inner } }), leaf);
  const definition = fromJSON(root, { keepCase: true, longs: String, defaults: true });
  return definition[`${name}.${service}`] as unknown as Record<string, MethodDefinition<object, object>>;
}

function fieldOf(text: string): object {
  const [, open, map, type, id] = /^(\[?)(map )?(\w+) (\d+)\]?$/.exec(text) as unknown as string[];
  if (map !== undefined) return { keyType: 'string', type, id: Number(id) };
  return { type, id: Number(id), ...(open === '' ? {} : { rule: 'repeated' }) };
}
