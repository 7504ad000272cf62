import { nearest } from '../base/nearest.js';
import { HOST_VARIABLE } from './host-variable.js';
import { RUNTIME_SETTINGS } from './runtime-settings.js';

/** A key that the environment sets. */
export interface EnvironmentOverride {
  readonly variable: string;
  /** Dotted, e.g. `runtime.intraOpThreads`. */
  readonly key: string;
  /** As written; read as YAML. */
  readonly value: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What the environment says of `runtime`, in the order of the table. An empty variable says nothing. */
export function environmentOverrides(environment: Environment): EnvironmentOverride[] {
  return RUNTIME_SETTINGS.flatMap(({ key, environment: variable }) => {
    const value = environment[variable]?.trim() ?? '';
    return value === '' ? [] : [{ variable, key: `runtime.${key}`, value }];
  });
}

/** Variables that look like ours and mean nothing, each with the one that was probably meant. */
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
