import { fileURLToPath } from 'node:url';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

/** Where open-inference.proto lies: the same path from here in src and, compiled, in dist. */
export const PROTOCOL_FILE = fileURLToPath(
  new URL('../../../src/live/frontend/open-inference.proto', import.meta.url),
);

/** A 64-bit integer as Protocol Buffers bring it. */
export interface Long {
  readonly low: number;
  readonly high: number;
  toNumber(): number;
}

// The messages of open-inference.proto that a frontend reads, in its names. What a client left out is undefined.

export interface InferParameter {
  readonly bool_param?: boolean;
  readonly int64_param?: Long;
  readonly string_param?: string;
  readonly double_param?: number;
  readonly uint64_param?: Long;
}
type Parameters = Readonly<Record<string, InferParameter>>;

export interface InferTensorContents {
  readonly bool_contents?: readonly boolean[];
  readonly int_contents?: readonly number[];
  readonly int64_contents?: readonly Long[];
  readonly uint_contents?: readonly number[];
  readonly uint64_contents?: readonly Long[];
  readonly fp32_contents?: readonly number[];
  readonly fp64_contents?: readonly number[];
  readonly bytes_contents?: readonly Uint8Array[];
}

export interface InferInputTensor {
  readonly name?: string;
  readonly datatype?: string;
  readonly shape?: readonly Long[];
  readonly parameters?: Parameters;
  readonly contents?: InferTensorContents;
}

export interface ModelInferRequest {
  readonly model_name?: string;
  readonly model_version?: string;
  readonly id?: string;
  readonly parameters?: Parameters;
  readonly inputs?: readonly InferInputTensor[];
  readonly outputs?: readonly { readonly name?: string; readonly parameters?: Parameters }[];
  readonly raw_input_contents?: readonly Uint8Array[];
}

export interface NamedModel {
  readonly name?: string;
  readonly version?: string;
}

export interface RepositoryIndexRequest {
  readonly ready?: boolean;
}

export interface RepositoryModelRequest {
  readonly model_name?: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** What a message that is no valid one is read as, so that its client hears of it in the protocol's terms. */
export const MALFORMED = Symbol('malformed');

/** The service of open-inference.proto. */
export function loadService(): ServiceDefinition {
  const loaded = loadSync(PROTOCOL_FILE, { keepCase: true });
  const service = loaded['inference.GRPCInferenceService'] as ServiceDefinition;
  return Object.fromEntries(
    Object.entries(service).map(([name, method]) => [name, tolerant(method)]),
  ) as ServiceDefinition;
}

function tolerant(method: MethodDefinition<unknown, unknown>): MethodDefinition<unknown, unknown> {
  return {
    ...method,
    requestDeserialize: (bytes) => {
      try {
        return method.requestDeserialize(bytes);
      } catch {
        return MALFORMED;
      }
    },
  };
}
