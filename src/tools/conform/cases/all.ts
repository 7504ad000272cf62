import type { ConformCase } from '../case.js';
import { BINARY } from './binary.js';
import { ERRORS } from './errors.js';
import { GRPC_CORE, GRPC_INFERENCE } from './grpc.js';
import { GRPC_STREAM } from './grpc-stream.js';
import { GRPC_WIRE } from './grpc-wire.js';
import { HTTP_CORE, HTTP_INFERENCE } from './http-core.js';

/** Every case, in the order they run. */
export const ALL_CASES: readonly ConformCase[] = [
  ...HTTP_CORE,
  ...HTTP_INFERENCE,
  ...ERRORS,
  ...BINARY,
  ...GRPC_CORE,
  ...GRPC_INFERENCE,
  ...GRPC_WIRE,
  ...GRPC_STREAM,
];
