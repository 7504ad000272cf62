import * as z from 'zod';
import { type RuntimeKey, runtimeKeys } from './schema-runtime.js';

/** One key of `runtime` as people see it. */
interface RuntimeSetting {
  readonly key: RuntimeKey;
  /** Environment variable that sets it where models run. */
  readonly environment: string;
  /** As written in a file. */
  readonly default: string;
  readonly description: string;
}

/** Every key of `runtime`, in the order of the documentation. */
export const RUNTIME_SETTINGS: readonly RuntimeSetting[] = Object.entries(
  z.toJSONSchema(runtimeKeys, { io: 'input' }).properties as Record<string, z.core.JSONSchema.BaseSchema>,
).map(([name, field]) => {
  const key = name as RuntimeKey;
  return {
    key,
    environment: environmentName(key),
    default: String(field.default),
    description: field.description ?? '',
  };
});

/** `intraOpThreads` is `ESCAPEMENT_INTRA_OP_THREADS`. */
function environmentName(key: string): string {
  return `ESCAPEMENT_${key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}
