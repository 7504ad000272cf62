import * as z from 'zod';
import { nearest } from '../base/nearest.js';
import { HOST_VARIABLE } from './host-variable.js';
import { type RuntimeKey, runtimeKeys } from './schema-runtime.js';

/** One key of `runtime` as people see it. */
interface RuntimeSetting {
  readonly key: RuntimeKey;
  /** Environment variable that sets it in processes that run models. */
  readonly environment: string;
  /** As written in a file. */
  readonly default: string;
}

/** Every key of `runtime`, in the order of the documentation. */
export const RUNTIME_SETTINGS: readonly RuntimeSetting[] = Object.entries(
  z.toJSONSchema(runtimeKeys, { io: 'input' }).properties as Record<string, z.core.JSONSchema.BaseSchema>,
).map(([name, field]) => ({
  key: name as RuntimeKey,
  environment: environmentName(name),
  default: String(field.default),
}));

/** `intraOpThreads` is `ESCAPEMENT_INTRA_OP_THREADS`. */
function environmentName(key: string): string {
  return `ESCAPEMENT_${key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** A key that the environment sets. */
export interface EnvironmentOverride {
  readonly variable: string;
  /** Dotted, e.g. `runtime.intraOpThreads`. */
  readonly key: string;
  /** As written; read as YAML. */
  readonly value: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Keys of `runtime` set by the environment, in the order of the table. An empty variable sets nothing. */
export function environmentOverrides(environment: Environment): EnvironmentOverride[] {
  return RUNTIME_SETTINGS.flatMap(({ key, environment: variable }) => {
    const value = environment[variable]?.trim() ?? '';
    return value === '' ? [] : [{ variable, key: `runtime.${key}`, value }];
  });
}

/** Unknown variables that look like ours, each with the one that was probably meant. */
export function unknownVariables(
  environment: Environment,
): { readonly variable: string; readonly meant: string | undefined }[] {
  const variables = [HOST_VARIABLE, ...RUNTIME_SETTINGS.map((setting) => setting.environment)];
  const known = variables.map((variable) => variable.slice(PREFIX.length));
  return Object.keys(environment)
    .filter((variable) => variable.startsWith(PREFIX) && !known.includes(variable.slice(PREFIX.length)))
    .sort()
    .map((variable) => {
      const meant = nearest(variable.slice(PREFIX.length), known);
      return { variable, meant: meant === undefined ? undefined : PREFIX + meant };
    });
}

const PREFIX = 'ESCAPEMENT_';
