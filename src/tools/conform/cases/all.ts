import type { ConformCase } from '../case.js';
import { BINARY } from './binary.js';
import { CLASSIFICATION } from './classification.js';
import { CONFIGURATION } from './configuration.js';
import { ERRORS } from './errors.js';
import { GRPC_CORE, GRPC_INFERENCE } from './grpc.js';
import { GRPC_STREAM } from './grpc-stream.js';
import { GRPC_WIRE } from './grpc-wire.js';
import { HTTP_CORE, HTTP_INFERENCE } from './http-core.js';
import { REPOSITORY } from './repository.js';
import { ROBUST_HOSTILE } from './robust-hostile.js';
import { ROBUST_HTTP } from './robust-http.js';
import { SENDERS } from './senders.js';
import { STATISTICS } from './statistics.js';

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
  ...STATISTICS,
  ...CONFIGURATION,
  ...REPOSITORY,
  ...CLASSIFICATION,
  ...SENDERS,
  ...ROBUST_HTTP,
  ...ROBUST_HOSTILE,
];
