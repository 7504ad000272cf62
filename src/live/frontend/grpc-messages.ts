import { fileURLToPath } from 'node:url';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

/** Where open-inference.proto lies: the same path from here in src and, compiled, in dist. */
export const PROTOCOL_FILE = fileURLToPath(
  new URL('../../../src/live/frontend/open-inference.proto', import.meta.url),
);

/** The service of open-inference.proto. */
export function loadService(): ServiceDefinition {
  const loaded = loadSync(PROTOCOL_FILE, { keepCase: true });
  return loaded['inference.GRPCInferenceService'] as ServiceDefinition;
}
