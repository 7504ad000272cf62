import * as z from 'zod';
import { nearest } from '../base/nearest.js';
import { isSection } from './document.js';
import { HOST_VARIABLE } from './host-variable.js';
import { PRESETS, type RuntimeKey, type RuntimeSettings, runtimeKeys } from './schema-runtime.js';

/** One key of `runtime` as people see it. */
interface RuntimeSetting {
  readonly key: RuntimeKey;
  /** Environment variable that sets it in processes that run models. */
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

type Tree = Readonly<Record<string, unknown>>;

/** An experiment as written, with the values of the `runtime` preset for keys that the section does not set. */
export function withPreset(tree: Tree, cores: () => number): Tree {
  const { runtime } = tree;
  if (!isSection(runtime)) return tree;
  const preset = PRESETS.find((name) => name === runtime.preset);
  return preset === undefined ? tree : { ...tree, runtime: { ...presetValues(preset, cores), ...runtime } };
}

/**
 * Values of a preset that replace the defaults, as written in a file. `cores`: threads that can run in parallel.
 *
 * - min-memory, measured on Linux x64 with four ResNet-50 (98 MiB each), warm, after INFERs of one and of eight: one
 *   lane thread instead of four reduces the peak from 1.3 to 1.0 GiB, without arena to 0.85 GiB, since a warm model
 *   then keeps no tensors between INFERs; INFERs took up to 5 % longer. Disabling the memory pattern made no
 *   difference, so it stays.
 * - max-parallelism: one INFER at a time runs on a device, so it gets all cores; doubling the lane threads halves how
 *   often a LOAD waits for an INFER in its own thread. interOpThreads stays 1: few models have branches, and
 *   onnxruntime would plan no memory.
 */
export function presetValues(
  preset: (typeof PRESETS)[number],
  cores: () => number,
): Partial<Record<keyof RuntimeSettings, unknown>> {
  switch (preset) {
    case 'none':
      return {};
    case 'min-memory':
      return { laneThreads: 1, memoryReserve: '75%', arena: false, storageBufferCache: 'disabled' };
    case 'max-parallelism':
      return { laneThreads: 16, intraOpThreads: cores() };
  }
}
