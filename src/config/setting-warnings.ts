import { unknownVariables } from './environment.js';
import { MXNET_VARIABLES } from './mxnet-variables.js';
import { SERIAL_KEYS } from './schema-runtime.js';
import type { OriginalSettings } from './server-settings.js';

/** What settings are read on. */
export interface SettingsPlace {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly processors: number;
}

/** Settings that were given and have no effect, or not the one that was meant: a line each, empty if all is well. */
export function settingWarnings(loaded: OriginalSettings, place: SettingsPlace): string[] {
  return [
    ...unknownVariables(place.environment).map(
      ({ variable, meant }) =>
        `${variable} is none of escapement's variables${meant === undefined ? '' : `: did you mean ${meant}?`}`,
    ),
    ...foreignVariables(place),
    ...serialConflicts(loaded),
    ...tooFewProcessors(loaded, place),
    ...withoutPattern(loaded),
  ];
}

/** What users of MXNet have set, and what says the same here. */
function foreignVariables({ environment }: SettingsPlace): string[] {
  return MXNET_VARIABLES.filter(({ variable }) => (environment[variable] ?? '') !== '').map(
    ({ variable, key, remark }) =>
      `${variable} has no effect here: ${key === null ? remark : `${key} is its counterpart`}`,
  );
}

function serialConflicts({ settings, originOf }: OriginalSettings): string[] {
  if (!settings.runtime.serial) return [];
  return SERIAL_KEYS.filter((key) => originOf(`runtime.${key}`) !== null).map(
    (key) => `runtime.${key} has no effect: runtime.serial runs everything in one thread`,
  );
}

function tooFewProcessors(
  { settings: { runtime } }: OriginalSettings,
  { processors }: SettingsPlace,
): string[] {
  const { intraOpThreads, interOpThreads, affinity } = runtime;
  const counts = { intraOpThreads, interOpThreads };
  const named = (affinity ?? '').split(/[;,-]/).map(Number);
  return [
    ...Object.entries(counts)
      .filter(([, threads]) => threads > processors)
      .map(
        ([key, threads]) =>
          `runtime.${key} is ${threads}, more than this machine's processors (${processors}): threads will wait for each other`,
      ),
    ...named
      .filter((processor) => processor > processors)
      .map((processor) => `runtime.affinity names processor ${processor}; the last one is ${processors}`),
  ];
}

/** onnxruntime plans memory in sequential mode only. */
function withoutPattern({ settings: { runtime }, originOf }: OriginalSettings): string[] {
  if (!runtime.memoryPattern || runtime.interOpThreads === 1) return [];
  if (originOf('runtime.memoryPattern') === null) return [];
  return ['runtime.memoryPattern has no effect: with several interOpThreads onnxruntime plans no memory'];
}
